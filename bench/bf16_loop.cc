// SPDX-License-Identifier: Apache-2.0
// With intrinsics: Highway 1.0 has no BF16 dot product.
#include "bench/machine_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace canopy::bench {
namespace {

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bf16"))) double Spin(int64_t rounds) {
  constexpr int kSums = 24;  // as in kernels/peak
  const __m512bh ones = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3f803f80));
  __m512 sums[kSums];
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < kSums; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], ones, ones);
  }
  __m512 total = sums[0];
#pragma GCC unroll 24
  for (int i = 1; i < kSums; ++i) total = _mm512_add_ps(total, sums[i]);
  [[maybe_unused]] static volatile float sink;  // else the loop would have no result
  sink = _mm512_cvtss_f32(total);
  return 2.0 * kSums * 32 * static_cast<double>(rounds);
}
#endif

}  // namespace

double SpinBf16Dot(int64_t rounds) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16")) return Spin(rounds);
#endif
  static_cast<void>(rounds);
  return 0;
}

}  // namespace canopy::bench
