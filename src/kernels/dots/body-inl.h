// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_DOTS_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_DOTS_BODY_INL_H_
#undef CANOPY_KERNELS_DOTS_BODY_INL_H_
#else
#define CANOPY_KERNELS_DOTS_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <atomic>

#include "kernels/ask.h"
#include "kernels/dots/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DotsTag = hn::CappedTag<float, 16>;
using DotsVec = hn::Vec<DotsTag>;
inline constexpr int64_t kDotsLanes = static_cast<int64_t>(hn::MaxLanes(DotsTag()));

// Few sums would wait for one another: each is kept several times then, where registers are left.
constexpr int DotsAtOnce(int sums, bool sums_rows) {
  if (sums_rows && CANOPY_VECTOR_REGISTERS < 32) return 1;
  return sums >= 8 ? 1 : sums >= 4 ? 2 : 4;
}

// Whether the registers hold the rows' sums, too; without vectors there is nothing to run out of.
constexpr bool DotsCanSumRows(int rows, int columns) {
  return HWY_TARGET == HWY_SCALAR || rows * columns + 2 * rows + 1 <= CANOPY_VECTOR_REGISTERS;
}

template <int kRows, int kColumns, bool kSumsRows>
void DotPlanes(const DotsCall& call) {
  constexpr int kAtOnce = DotsAtOnce(kRows * kColumns, kSumsRows);
  const DotsTag d;
  DotsVec acc[kAtOnce][kRows][kColumns];
#pragma GCC unroll 4
  for (int u = 0; u < kAtOnce; ++u) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) acc[u][r][c] = hn::Zero(d);
    }
  }
  DotsVec row_sums[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) row_sums[r] = hn::Zero(d);
  const int64_t a_row = call.a_row, ahead_step = call.ahead_step[0], ahead_too_step = call.ahead_step[1];
  const int64_t end = call.vectors * kDotsLanes;
  for (int64_t line = 0; line < call.lines; ++line) {
    const char* ahead = call.ahead[0] + line * call.ahead_line[0];
    const char* ahead_too = call.ahead[1] + line * call.ahead_line[1];
    const float *const a_line = call.a + line * call.a_line, *columns[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) columns[c] = call.b + line * call.b_line + call.b_offsets[c];
    const auto add = [&](DotsVec(&to)[kRows][kColumns], int64_t at) HWY_ATTR {
      Ask(ahead);
      Ask(ahead_too);
      ahead += ahead_step;
      ahead_too += ahead_too_step;
      DotsVec a[kRows];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        a[r] = hn::LoadU(d, a_line + r * a_row + at);
        if constexpr (kSumsRows) row_sums[r] = hn::Add(row_sums[r], a[r]);
      }
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        const DotsVec b = hn::LoadU(d, columns[c] + at);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // or GCC loads it again for each row
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) to[r][c] = hn::MulAdd(a[r], b, to[r][c]);
      }
    };
    int64_t at = 0;
    for (; at + kAtOnce * kDotsLanes <= end; at += kAtOnce * kDotsLanes) {
#pragma GCC unroll 4
      for (int u = 0; u < kAtOnce; ++u) add(acc[u], at + u * kDotsLanes);
    }
    if constexpr (kAtOnce > 1) {
      for (; at < end; at += kDotsLanes) add(acc[0], at);
    }
  }
  const bool first = call.first;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    float* to = call.sums + r * call.sums_row;
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c, to += kDotsLanes) {
      DotsVec sum = acc[0][r][c];
#pragma GCC unroll 4
      for (int u = 1; u < kAtOnce; ++u) sum = hn::Add(sum, acc[u][r][c]);
      hn::StoreU(first ? sum : hn::Add(hn::LoadU(d, to), sum), d, to);
    }
    if constexpr (kSumsRows) {
      float* sum_to = call.row_sums + r * call.row_sums_row;
      hn::StoreU(first ? row_sums[r] : hn::Add(hn::LoadU(d, sum_to), row_sums[r]), d, sum_to);
    }
  }
}

#if HWY_TARGET == HWY_SCALAR
inline void ReduceLanes(const float* vectors, int64_t count, float* sums) {
  for (int64_t i = 0; i < count; ++i) sums[i] = vectors[i];
}
#else
// Sums of four vectors' lanes, one below another in each block of four lanes.
HWY_INLINE DotsVec AddFour(const float* from) {
  const DotsTag d;
  const hn::Repartition<uint64_t, DotsTag> pairs;
  const auto two = [&](DotsVec a, DotsVec b)
                       HWY_ATTR { return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)); };
  const auto low = hn::BitCast(pairs, two(hn::LoadU(d, from), hn::LoadU(d, from + kDotsLanes)));
  const auto high = hn::BitCast(pairs, two(hn::LoadU(d, from + 2 * kDotsLanes), hn::LoadU(d, from + 3 * kDotsLanes)));
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, low, high)),
                 hn::BitCast(d, hn::InterleaveUpper(pairs, low, high)));
}

// The sum of the blocks of four lanes.
template <class D, class V>
HWY_INLINE hn::Vec<hn::Full128<float> > AddBlocks(D d, V v) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return AddBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

inline void ReduceLanes(const float* vectors, int64_t count, float* sums) {
  const DotsTag d;
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    hn::StoreU(AddBlocks(d, AddFour(vectors + i * kDotsLanes)), hn::Full128<float>(), sums + i);
  }
  if (i == count) return;
  HWY_ALIGN float rest[4 * kDotsLanes] = {}, last[4];
  for (int64_t j = 0; j < (count - i) * kDotsLanes; ++j) rest[j] = vectors[i * kDotsLanes + j];
  hn::StoreU(AddBlocks(d, AddFour(rest)), hn::Full128<float>(), last);
  for (int64_t j = 0; i + j < count; ++j) sums[i + j] = last[j];
}
#endif

// ---- the list ------------------------------------------------------------------------------------------------------

template <int kRows, int kColumns>
void FillDots(DotsKernels* kernels) {
  kernels->dots[kRows][kColumns] = &DotPlanes<kRows, kColumns, false>;
  kernels->most_columns[kRows] = HWY_MAX(kernels->most_columns[kRows], kColumns);
  if constexpr (DotsCanSumRows(kRows, kColumns)) {
    kernels->summing[kRows][kColumns] = &DotPlanes<kRows, kColumns, true>;
    kernels->most_summing_columns[kRows] = HWY_MAX(kernels->most_summing_columns[kRows], kColumns);
  }
  if constexpr (kColumns > 1) FillDots<kRows, kColumns - 1>(kernels);
}

inline const DotsKernels& DotsOfTarget() {
  static const struct Table {
    DotsKernels kernels{};
    Table() {
      kernels.lanes = static_cast<int>(kDotsLanes);
      kernels.reduce = &ReduceLanes;
#define CANOPY_DOTS(registers, rows, columns) \
  if constexpr (registers == CANOPY_VECTOR_REGISTERS) FillDots<rows, columns>(&kernels);
#include "kernels/dots/kernels.inc"
#undef CANOPY_DOTS
    }
  } table;
  return table.kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_DOTS_BODY_INL_H_
