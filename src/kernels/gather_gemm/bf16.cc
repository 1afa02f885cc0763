// SPDX-License-Identifier: Apache-2.0
// With intrinsics: Highway 1.0 has no target with BF16 dot products.
#include "kernels/gather_gemm/bf16.h"

#include <atomic>
#include <type_traits>
#include <utility>

#include "kernels/ask.h"
#include "kernels/gather_gemm/contract.h"

#if defined(__x86_64__)
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bf16"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bf16")
#endif
namespace canopy::kernels {
namespace {

#include "kernels/gather_gemm/tiles-inl.h"

// A pair travels as the float of its bits, which is never computed with.
struct PairMath {
  static constexpr int kRegisters = 32, kLanes = 16;
  static constexpr bool kMasks = false, kFolds = true;
  using V = __m512;

  static __attribute__((always_inline)) V Zero() { return _mm512_setzero_ps(); }
  static __attribute__((always_inline)) V Load(const float* from) { return _mm512_loadu_ps(from); }
  static __attribute__((always_inline)) void Store(V v, float* to) { _mm512_storeu_ps(to, v); }
  static __attribute__((always_inline)) void Stream(V v, float* to) { _mm512_stream_ps(to, v); }
  static __attribute__((always_inline)) V Broadcast(const float* from) { return _mm512_set1_ps(*from); }
  static __attribute__((always_inline)) V Add(V x, V y) { return _mm512_add_ps(x, y); }
  static __attribute__((always_inline)) V MulAdd(V x, V y, V sum) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(y));
  }
  static __attribute__((always_inline)) void AddProduct(V x, V y, V* sum) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(*sum) : "v"(y), "v"(x));
  }
  static __attribute__((always_inline)) void AddProduct(const float* x, V y, V* sum) {
    asm("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(*sum) : "v"(y), "m"(*x));
  }
};

GatherTilesList Tiles() { return ListGatherTiles<PairMath>(); }

}  // namespace
}  // namespace canopy::kernels
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace canopy::kernels {

constexpr int kPairLanes = 16;  // of a vector

GatherTilesList VectorPairTiles() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16")) return Tiles();
#endif
  return {};
}

GatherTilesList PairGatherTiles() {
  if (AllGatherTiles().vector_lanes != kPairLanes) return {};  // a test's narrower target has no pairs
  const GatherTilesList matrices = MatrixPairTiles();
  return matrices.count > 0 ? matrices : VectorPairTiles();
}

}  // namespace canopy::kernels
