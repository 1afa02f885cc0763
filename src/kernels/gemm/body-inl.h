// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_GEMM_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_GEMM_BODY_INL_H_
#undef CANOPY_KERNELS_GEMM_BODY_INL_H_
#else
#define CANOPY_KERNELS_GEMM_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/gemm/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kVectorRegisters = 32;
#elif HWY_TARGET == HWY_SCALAR
inline constexpr int kVectorRegisters = 1;
#else
inline constexpr int kVectorRegisters = 16;
#endif

template <int kRows, int kVectors>
void GemmTileBody(int64_t depth, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float* HWY_RESTRICT c,
                  bool accumulate) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  V acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Zero(d);
  }
  for (int64_t i = 0; i < depth; ++i) {
    V lanes[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) lanes[v] = hn::Load(d, b + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V row = hn::Set(d, a[r]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::MulAdd(row, lanes[v], acc[r][v]);
    }
    a += kRows;
    b += kVectors * kLanes;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      float* to = c + (r * kVectors + v) * kLanes;
      hn::Store(accumulate ? hn::Add(hn::Load(d, to), acc[r][v]) : acc[r][v], d, to);
    }
  }
}

// The list's entries for this target's registers, in the list's order.
inline GemmTileList TilesOfTarget() {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(hn::ScalableTag<float>()));
  static const struct Table {
    GemmTile tiles[8];
    int count = 0;
    Table() {
#define CANOPY_GEMM_TILE(registers, rows, vectors, efficiency) \
  if constexpr (registers == kVectorRegisters)                 \
    tiles[count++] = {rows, (vectors)*kLanes, efficiency, &GemmTileBody<rows, vectors>};
#include "kernels/gemm/kernels.inc"
#undef CANOPY_GEMM_TILE
    }
  } table;
  return {table.tiles, table.count, hwy::TargetName(HWY_TARGET)};
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_GEMM_BODY_INL_H_
