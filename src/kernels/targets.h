// SPDX-License-Identifier: Apache-2.0
// The instruction sets that every kernel is compiled for; include before anything of Highway. SSSE3 and SSE4 gain
// nothing over SSE2 here, AVX3_DL nothing over AVX3, and the scalable ones (SVE, RVV) forbid arrays of vectors: Arm
// uses NEON.
#ifndef CANOPY_KERNELS_TARGETS_H_
#define CANOPY_KERNELS_TARGETS_H_

#define CANOPY_USELESS_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// Sanitizers take long to compile. AVX2 has SSE4's registers, and no masks either.
#if defined(CANOPY_NO_AVX512)
#define HWY_DISABLED_TARGETS (CANOPY_USELESS_TARGETS | HWY_SSE4 | HWY_AVX3)
#elif defined(CANOPY_FEWER_TARGETS)
#define HWY_DISABLED_TARGETS (CANOPY_USELESS_TARGETS | HWY_SSE4)
#else
#define HWY_DISABLED_TARGETS CANOPY_USELESS_TARGETS
#endif

// Vector registers of the instruction set that is being compiled for; 1: it has no vectors.
#define CANOPY_VECTOR_REGISTERS \
  (HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON ? 32 : HWY_TARGET == HWY_SCALAR ? 1 : 16)

// Whether multiply-adds can broadcast a number from memory by themselves. Sanitizers are to see every load.
#ifdef CANOPY_FEWER_TARGETS
#define CANOPY_FOLDED_FACTORS 0
#else
#define CANOPY_FOLDED_FACTORS (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3)
#endif

#endif  // CANOPY_KERNELS_TARGETS_H_
