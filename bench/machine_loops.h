// SPDX-License-Identifier: Apache-2.0
// Loops that do nothing but what a bound is about: BF16 dot products in registers, loads. That of FP32 multiply-adds is
// the engine's own, kernels/peak.
#ifndef CANOPY_BENCH_MACHINE_LOOPS_H_
#define CANOPY_BENCH_MACHINE_LOOPS_H_

#include <cstddef>
#include <cstdint>

namespace canopy::bench {

// kernels::SpinFma with the processor's BF16 dot product into FP32; 0 where it has none, or none that this file knows.
double SpinBf16Dot(int64_t rounds);

// Loads every byte once. REQUIRES: `bytes` is a multiple of 1024, `data` is aligned to 128.
void ReadAll(const void* data, size_t bytes);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_MACHINE_LOOPS_H_
