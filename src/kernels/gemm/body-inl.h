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

// kRows x kVectors accumulators in registers. Everything is unrolled: an index that is not a constant would put them
// into memory.
template <int kRows, int kVectors>
class Accumulators {
 public:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));

  HWY_INLINE void Clear() {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums_[r][v] = hn::Zero(D());
    }
  }

  HWY_INLINE void Add(const float* HWY_RESTRICT a, const V* lanes) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V row = hn::Set(D(), a[r]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums_[r][v] = hn::MulAdd(row, lanes[v], sums_[r][v]);
    }
  }

  HWY_INLINE void Finish(float* HWY_RESTRICT c, bool accumulate) const {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        float* to = c + (r * kVectors + v) * kLanes;
        hn::Store(accumulate ? hn::Add(hn::Load(D(), to), sums_[r][v]) : sums_[r][v], D(), to);
      }
    }
  }

 private:
  V sums_[kRows][kVectors];
};

template <int kRows, int kVectors>
void GemmTileBody(int64_t depth, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float* HWY_RESTRICT c,
                  bool accumulate) {
  using Sums = Accumulators<kRows, kVectors>;
  Sums sums;
  sums.Clear();
  for (int64_t i = 0; i < depth; ++i) {
    typename Sums::V lanes[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) lanes[v] = hn::Load(typename Sums::D(), b + v * Sums::kLanes);
    sums.Add(a, lanes);
    a += kRows;
    b += kVectors * Sums::kLanes;
  }
  sums.Finish(c, accumulate);
}

// The list's entries for this target's registers, in the list's order.
inline GemmTileList TilesOfTarget() {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(hn::ScalableTag<float>()));
  static const struct Table {
    GemmTile tiles[8];
    int count = 0;
    Table() {
#define CANOPY_GEMM_TILE(registers, rows, vectors, efficiency) \
  if constexpr (registers == CANOPY_VECTOR_REGISTERS)          \
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
