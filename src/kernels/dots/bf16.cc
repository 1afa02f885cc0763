// SPDX-License-Identifier: Apache-2.0
// With intrinsics: Highway 1.0 has no target with BF16 dot products.
#include <algorithm>
#include <atomic>
#include <type_traits>

#include "kernels/ask.h"
#include "kernels/dots/contract.h"

#if defined(__x86_64__)
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512bf16"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512bf16")
#endif
namespace canopy::kernels {
namespace {

#include "kernels/dots/planes-inl.h"

// A vector of pairs travels as the floats of their bits.
struct PairDotsMath {
  static constexpr int kRegisters = 32, kLanes = 16, kVectorElements = 2 * kLanes;
  static constexpr bool kMasks = true;
  using Element = uint16_t;
  using V = __m512;

  static __attribute__((always_inline)) V Zero() { return _mm512_setzero_ps(); }
  static __attribute__((always_inline)) V Load(const uint16_t* from) {
    return _mm512_castsi512_ps(_mm512_loadu_si512(from));
  }
  static __attribute__((always_inline)) __mmask32 First(int64_t count) { return (uint32_t{1} << count) - 1; }
  static __attribute__((always_inline)) V LoadMasked(__mmask32 present, const uint16_t* from) {
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(present, from));
  }
  static __attribute__((always_inline)) V LoadSums(const float* from) { return _mm512_loadu_ps(from); }
  static __attribute__((always_inline)) void StoreSums(V v, float* to) { _mm512_storeu_ps(to, v); }
  static __attribute__((always_inline)) V Add(V x, V y) { return _mm512_add_ps(x, y); }
  static __attribute__((always_inline)) V AddTerms(V terms, V sum) {
    constexpr int32_t kOneAndOne = 0x3F803F80;
    return MulAdd(terms, _mm512_castsi512_ps(_mm512_set1_epi32(kOneAndOne)), sum);
  }
  static __attribute__((always_inline)) V MulAdd(V x, V y, V sum) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(y));
  }
};

DotsKernelsOf<uint16_t> ListPairDots() { return ListDots<PairDotsMath>(); }

}  // namespace
}  // namespace canopy::kernels
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace canopy::kernels {

const DotsKernelsOf<uint16_t>& PairDots() {
  static constexpr DotsKernelsOf<uint16_t> kNone{};
#if defined(__x86_64__)
  static const DotsKernelsOf<uint16_t> kPairs =
      __builtin_cpu_supports("avx512bf16") ? ListPairDots() : DotsKernelsOf<uint16_t>{};
  // A test's narrower target has no pairs.
  if (kPairs.lanes == Dots().lanes) return kPairs;
#endif
  return kNone;
}

}  // namespace canopy::kernels
