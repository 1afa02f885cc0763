// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_STENCIL_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_STENCIL_BODY_INL_H_
#undef CANOPY_KERNELS_STENCIL_BODY_INL_H_
#else
#define CANOPY_KERNELS_STENCIL_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <atomic>

#include "kernels/ask.h"
#include "kernels/convert/convert-inl.h"
#include "kernels/stencil/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace cv = convert::HWY_NAMESPACE;

template <int kRows, int kTaps, int kAtOnce, bool kBroadcast>
void StencilBody(const StencilCall& call) {
  const hn::CappedTag<float, kMostLanes> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t source_row = call.source_row, tap_row = call.tap_row, source_position = call.source_position;
  const StencilColumn* const end = call.columns + call.column_count;
  for (int64_t p = 0; p < call.positions; p += kAtOnce) {
    const float* const source = call.source + p * source_position;
    V acc[kAtOnce][kRows];
#pragma GCC unroll 8
    for (int v = 0; v < kAtOnce; ++v) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) acc[v][r] = hn::Zero(d);
    }
    for (const StencilColumn* column = call.columns; column != end; ++column) {
      const float* at = source + column->source;
      const float* tap_at = call.taps + column->tap;
      V tap[kTaps];
#pragma GCC unroll 8
      for (int t = 0; t < kTaps; ++t) {
        tap[t] = kBroadcast ? hn::Set(d, *tap_at) : hn::LoadU(d, tap_at);
        tap_at += tap_row;
      }
#pragma GCC unroll 16
      for (int i = 0; i < kRows + kTaps - 1; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kAtOnce; ++v) {
          const V x = hn::LoadU(d, at + v * source_position);
          std::atomic_signal_fence(std::memory_order_seq_cst);  // or GCC loads x again for each of few taps
#pragma GCC unroll 8
          for (int t = 0; t < kTaps; ++t) {
            if (i - t >= 0 && i - t < kRows) acc[v][i - t] = hn::MulAdd(tap[t], x, acc[v][i - t]);
          }
        }
        at += source_row;
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kAtOnce; ++v) {
      float* to = call.result + (p + v) * call.result_position;
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        hn::StoreU(call.accumulate ? hn::Add(hn::LoadU(d, to), acc[v][r]) : acc[v][r], d, to);
        to += call.result_row;
      }
    }
  }
}

// ---- lines and lanes -----------------------------------------------------------------------------------------------

// A square of as many vectors as lanes, transposed.
#if HWY_TARGET == HWY_SCALAR
template <class D, class V>
HWY_INLINE void Transpose(D, V*) {}
#else
template <class D, class V>
HWY_INLINE void Transpose(D d, V* v) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  const hn::RepartitionToWide<D> dw;
  // Within the 128-bit blocks: four rows of four become four columns of four.
#pragma GCC unroll 4
  for (int g = 0; g < kLanes; g += 4) {
    const V a0 = hn::InterleaveLower(d, v[g], v[g + 1]), a1 = hn::InterleaveLower(d, v[g + 2], v[g + 3]);
    const V b0 = hn::InterleaveUpper(d, v[g], v[g + 1]), b1 = hn::InterleaveUpper(d, v[g + 2], v[g + 3]);
    v[g] = hn::BitCast(d, hn::InterleaveLower(dw, hn::BitCast(dw, a0), hn::BitCast(dw, a1)));
    v[g + 1] = hn::BitCast(d, hn::InterleaveUpper(dw, hn::BitCast(dw, a0), hn::BitCast(dw, a1)));
    v[g + 2] = hn::BitCast(d, hn::InterleaveLower(dw, hn::BitCast(dw, b0), hn::BitCast(dw, b1)));
    v[g + 3] = hn::BitCast(d, hn::InterleaveUpper(dw, hn::BitCast(dw, b0), hn::BitCast(dw, b1)));
  }
  // Then the blocks among one another.
  if constexpr (kLanes == 8) {
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      const V low = v[c], high = v[4 + c];
      v[c] = hn::ConcatLowerLower(d, high, low);
      v[4 + c] = hn::ConcatUpperUpper(d, high, low);
    }
  }
  if constexpr (kLanes == 16) {
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      const V m0 = v[c], m1 = v[4 + c], m2 = v[8 + c], m3 = v[12 + c];
      const V t0 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(m1), m0);
      const V t1 = hn::OddEvenBlocks(m1, hn::SwapAdjacentBlocks(m0));
      const V u0 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(m3), m2);
      const V u1 = hn::OddEvenBlocks(m3, hn::SwapAdjacentBlocks(m2));
      v[c] = hn::ConcatLowerLower(d, u0, t0);
      v[4 + c] = hn::ConcatLowerLower(d, u1, t1);
      v[8 + c] = hn::ConcatUpperUpper(d, u0, t0);
      v[12 + c] = hn::ConcatUpperUpper(d, u1, t1);
    }
  }
}
#endif

// Elements that lines are asked for ahead of use: sixteen streams at once are more than processors foresee.
inline constexpr int kAhead = 128;

inline void ToLanes(const float* const* lines, int64_t count, float* HWY_RESTRICT to) {
  const hn::CappedTag<float, kMostLanes> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  V v[kLanes];
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l) {
      v[l] = hn::LoadU(d, lines[l] + i);
      Ask(lines[l] + i + kAhead);
    }
    Transpose(d, v);
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l) hn::Store(v[l], d, to + (i + l) * kLanes);
  }
  if (i == count) return;
  const size_t rest = static_cast<size_t>(count - i);
#pragma GCC unroll 16
  for (int l = 0; l < kLanes; ++l) v[l] = cv::LoadFirst(d, lines[l] + i, rest);
  Transpose(d, v);
#pragma GCC unroll 16
  for (int l = 0; l < kLanes; ++l) {
    if (i + l < count) hn::Store(v[l], d, to + (i + l) * kLanes);
  }
}

inline void FromLanes(const float* HWY_RESTRICT from, int64_t count, int64_t valid, float* const* lines) {
  const hn::CappedTag<float, kMostLanes> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  V v[kLanes];
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t rest = HWY_MIN(kLanes, count - i);
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l) v[l] = l < rest ? hn::Load(d, from + (i + l) * kLanes) : hn::Zero(d);
    Transpose(d, v);
    if (rest == kLanes) {
#pragma GCC unroll 16
      for (int l = 0; l < kLanes; ++l) {
        if (l >= valid) break;
        AskToWrite(lines[l] + i + kAhead);
        hn::StoreU(v[l], d, lines[l] + i);
      }
    } else {
#pragma GCC unroll 16
      for (int l = 0; l < kLanes; ++l) {
        if (l < valid) cv::StoreFirst(v[l], d, lines[l] + i, static_cast<size_t>(rest));
      }
    }
  }
}

// ---- the list ------------------------------------------------------------------------------------------------------

template <int kRows, int kAtOnce, int kTaps>
void FillTaps(StencilRows* entry) {
  entry->vectors[kTaps] = &StencilBody<kRows, kTaps, kAtOnce, false>;
  entry->broadcast[kTaps] = &StencilBody<kRows, kTaps, kAtOnce, true>;
  if constexpr (kTaps > 1) FillTaps<kRows, kAtOnce, kTaps - 1>(entry);
}

// The list's entries for this target's registers, in the list's order.
inline const StencilKernels& StencilsOfTarget() {
  static const struct Table {
    StencilRows rows[24] = {};
    StencilKernels kernels;
    Table() {
      int count = 0;
#define CANOPY_STENCIL_ROWS(registers, row_count, at_once_count, most) \
  if constexpr (registers == CANOPY_VECTOR_REGISTERS) {                \
    rows[count].rows = row_count;                                      \
    rows[count].at_once = at_once_count;                               \
    rows[count].most_taps = most;                                      \
    FillTaps<row_count, at_once_count, most>(&rows[count++]);          \
  }
#include "kernels/stencil/kernels.inc"
#undef CANOPY_STENCIL_ROWS
      kernels = {static_cast<int>(hn::MaxLanes(hn::CappedTag<float, kMostLanes>())),
                 rows,
                 count,
                 hwy::TargetName(HWY_TARGET),
                 &ToLanes,
                 &FromLanes};
    }
  } table;
  return table.kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_STENCIL_BODY_INL_H_
