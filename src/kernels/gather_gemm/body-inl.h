// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_
#undef CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_
#else
#define CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <utility>

#include "kernels/gather_gemm/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kGatherRegisters = 32;
#elif HWY_TARGET == HWY_SCALAR
inline constexpr int kGatherRegisters = 1;
#else
inline constexpr int kGatherRegisters = 16;
#endif

// kRows x kVectors accumulators in registers. Everything is unrolled: an index that is not a constant would put them
// into memory.
template <int kRows, int kVectors>
class GatherSums {
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

  // `row(r)` is where row r's factor stands. The fewer operands wait in registers.
  template <class Row>
  HWY_INLINE void Add(const Row& row, const float* HWY_RESTRICT b) {
    if constexpr (kVectors <= kRows || kVectors < 5) {
      V lanes[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) lanes[v] = hn::LoadU(D(), b + v * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const V factor = hn::Set(D(), *row(r));
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums_[r][v] = hn::MulAdd(factor, lanes[v], sums_[r][v]);
      }
    } else {
      V factors[kRows];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) factors[r] = hn::Set(D(), *row(r));
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const V lanes = hn::LoadU(D(), b + v * kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) sums_[r][v] = hn::MulAdd(factors[r], lanes, sums_[r][v]);
      }
    }
  }

  HWY_INLINE void Finish(float* HWY_RESTRICT c, const int64_t* HWY_RESTRICT offsets, bool accumulate) const {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        float* to = c + offsets[r] + v * kLanes;
        hn::StoreU(accumulate ? hn::Add(hn::LoadU(D(), to), sums_[r][v]) : sums_[r][v], D(), to);
      }
    }
  }

 private:
  V sums_[kRows][kVectors];
};

template <int kRows, int kVectors>
void GatherScattered(const GatherOperands& o, bool accumulate) {
  GatherSums<kRows, kVectors> sums;
  sums.Clear();
  for (int64_t t = 0; t < o.run_count; ++t) {
    const GatherRun run = o.runs[t];
    const float* HWY_RESTRICT rows[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) rows[r] = o.a + run.a + o.row_offsets[r];
    const float* HWY_RESTRICT b = o.b + run.b;
    for (int64_t i = 0; i < run.terms; ++i) {
      sums.Add([&rows, i](int r) { return rows[r] + i; }, b);
      b += o.b_step;
    }
  }
  sums.Finish(o.c, o.result_offsets, accumulate);
}

inline constexpr int kCacheLine = 64;

template <int kRows, int kVectors, bool kCopying>
void GatherAdjacent(const GatherOperands& o, bool accumulate) {
  GatherSums<kRows, kVectors> sums;
  sums.Clear();
  const char* ahead = static_cast<const char*>(o.ahead);
  [[maybe_unused]] float* HWY_RESTRICT copy = o.b_copy;
  for (int64_t t = 0; t < o.run_count; ++t) {
    const GatherRun run = o.runs[t];
    const float* HWY_RESTRICT a = o.a + run.a;
    const float* HWY_RESTRICT b = o.b + run.b;
    for (int64_t i = 0; i < run.terms; ++i) {
      if constexpr (kCopying) {
        const hn::ScalableTag<float> d;
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          hn::StoreU(hn::LoadU(d, b + v * GatherSums<1, 1>::kLanes), d, copy + v * GatherSums<1, 1>::kLanes);
        }
        copy += o.b_copy_step;
      }
      sums.Add([a](int r) { return a + r; }, b);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) __builtin_prefetch(ahead + v * kCacheLine);
      ahead += o.ahead_step;
      a += o.a_step;
      b += o.b_step;
    }
  }
  sums.Finish(o.c, o.result_offsets, accumulate);
}

template <int kVectors, int... kRows>
GatherTiles MakeGatherTiles(std::integer_sequence<int, kRows...>) {
  GatherTiles tiles{};
  tiles.lanes = kVectors * static_cast<int>(hn::MaxLanes(hn::ScalableTag<float>()));
  tiles.most_rows = sizeof...(kRows);
  ((tiles.scattered[kRows + 1] = &GatherScattered<kRows + 1, kVectors>,
    tiles.adjacent[kRows + 1] = &GatherAdjacent<kRows + 1, kVectors, false>,
    tiles.adjacent_copying[kRows + 1] = &GatherAdjacent<kRows + 1, kVectors, true>),
   ...);
  return tiles;
}

// The list's entries for this target's registers, in the list's order.
inline GatherTilesList GatherTilesOfTarget() {
  static const struct Table {
    GatherTiles tiles[8];
    int count = 0;
    Table() {
#define CANOPY_GATHER_TILES(registers, vectors, most_rows) \
  if constexpr (registers == kGatherRegisters)             \
    tiles[count++] = MakeGatherTiles<vectors>(std::make_integer_sequence<int, most_rows>());
#include "kernels/gather_gemm/kernels.inc"
#undef CANOPY_GATHER_TILES
    }
  } table;
  return {table.tiles, table.count, static_cast<int>(hn::MaxLanes(hn::ScalableTag<float>()))};
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_
