// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_ROW_SUMS_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_ROW_SUMS_BODY_INL_H_
#undef CANOPY_KERNELS_ROW_SUMS_BODY_INL_H_
#else
#define CANOPY_KERNELS_ROW_SUMS_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <atomic>

#include "kernels/ask.h"
#include "kernels/convert/convert-inl.h"
#include "kernels/row_sums/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace cv = convert::HWY_NAMESPACE;
using convert::Form;

using RowTag = hn::CappedTag<float, 16>;
using RowVec = hn::Vec<RowTag>;
inline constexpr int64_t kRowLanes = static_cast<int64_t>(hn::MaxLanes(RowTag()));

// Whether masked loads read what they leave out. Highway's of one lane do, though it does not say so.
#if HWY_MEM_OPS_MIGHT_FAULT || HWY_TARGET == HWY_SCALAR
#define CANOPY_LOADS_READ_ALL 1
#else
#define CANOPY_LOADS_READ_ALL 0
#endif

// Lanes [begin, end) of vectors of memory, 0 elsewhere; nothing else is read. Beyond the vector's ends all are meant.
template <Form kForm>
class PresentLanes {
 public:
  using Element = cv::FormElement<kForm>;
  using Elements = cv::ElementTag<TypeOf(kForm), RowTag>;

  PresentLanes() = default;
  HWY_INLINE PresentLanes(int64_t begin, int64_t end)
      : begin_(HWY_MIN(kRowLanes, HWY_MAX(int64_t{0}, begin))), end_(HWY_MIN(kRowLanes, HWY_MAX(int64_t{0}, end))) {
#if !CANOPY_LOADS_READ_ALL
    const Elements d;
    mask_ = hn::AndNot(hn::FirstN(d, static_cast<size_t>(begin_)), hn::FirstN(d, static_cast<size_t>(end_)));
#endif
  }

  HWY_INLINE RowVec Load(const Element* from) const {
    const Elements d;
#if CANOPY_LOADS_READ_ALL
    HWY_ALIGN Element lanes[kRowLanes] = {};
    for (int64_t i = begin_; i < end_; ++i) lanes[i] = from[i];
    return cv::FromElements<TypeOf(kForm)>(RowTag(), hn::Load(d, lanes));
#else
    return cv::FromElements<TypeOf(kForm)>(RowTag(), hn::MaskedLoad(mask_, d, from));
#endif
  }

 private:
  int64_t begin_ = 0, end_ = 0;
#if !CANOPY_LOADS_READ_ALL
  hn::Mask<Elements> mask_;
#endif
};

inline constexpr bool kRowMasks = CANOPY_LOADS_READ_ALL == 0;

#undef CANOPY_LOADS_READ_ALL

// What a kernel checks.
enum class Edge { kNone, kLanes, kRowsAndLanes };

template <Form kForm, int kChannels, int kTaps, int kRows, Edge kEdge>
void SumRows(const RowSumsCall& call) {
  using Element = cv::FormElement<kForm>;
  using Lanes = PresentLanes<kForm>;
  const RowTag d;
  RowVec acc[kRows][kChannels];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kChannels; ++c) acc[r][c] = hn::Zero(d);
  }
  const int64_t source_row = call.source_row, columns = call.columns, source_channel = call.source_channel;
  [[maybe_unused]] const int64_t row_begin = call.row_begin, row_end = call.row_end;
  // Of the first columns; those of more than these are worked out each time.
  constexpr int64_t kKept = 8;
  Lanes kept[kKept];
  for (int64_t j = 0; kEdge != Edge::kNone && j < HWY_MIN(columns, kKept); ++j) {
    kept[j] = Lanes(call.lane_begin - j, call.lane_end - j);
  }
  const Element *source = static_cast<const Element*>(call.source), *ahead = static_cast<const Element*>(call.ahead);
  const float* weights = call.weights;
  for (int64_t k = 0; k < call.sources; ++k, source += source_channel, ahead += source_channel) {
    if (call.asks) {
      const Element* line = ahead;
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r, line += source_row) {
        Ask(line);
        Ask(line + kRowLanes);
      }
    }
    for (int64_t j = 0; j < columns; ++j) {
      RowVec factor[kTaps][kChannels];
#pragma GCC unroll 3
      for (int i = 0; i < kTaps; ++i) {
#pragma GCC unroll 4
        for (int c = 0; c < kChannels; ++c) factor[i][c] = hn::Set(d, *weights++);
      }
      const Element* at = source + j;
      const Lanes lanes = j < kKept ? kept[j] : Lanes(call.lane_begin - j, call.lane_end - j);
#pragma GCC unroll 16
      for (int i = 0; i < kRows + kTaps - 1; ++i, at += source_row) {
        if (kEdge == Edge::kRowsAndLanes && (i < row_begin || i >= row_end)) continue;
        const RowVec loaded = kEdge == Edge::kNone ? cv::LoadVec<TypeOf(kForm)>(d, at) : lanes.Load(at);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // or GCC loads it again for each tap
        const RowVec x = cv::RoundVec<RoundingOf(kForm), false, cv::Held::kNone>(d, loaded);
#pragma GCC unroll 3
        for (int t = 0; t < kTaps; ++t) {
#pragma GCC unroll 4
          for (int c = 0; c < kChannels; ++c) {
            if (i - t >= 0 && i - t < kRows) acc[i - t][c] = hn::MulAdd(factor[t][c], x, acc[i - t][c]);
          }
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kChannels; ++c) {
      float* to = call.result + c * call.result_channel + r * call.result_row;
      hn::StoreU(hn::Add(hn::LoadU(d, to), acc[r][c]), d, to);
    }
  }
}

// ---- the list ------------------------------------------------------------------------------------------------------

template <Form kForm, int kChannels, int kRows, int kTaps>
void FillRowSums(RowSumKernels* kernels) {
  kernels->inside[kChannels][kTaps] = &SumRows<kForm, kChannels, kTaps, kRows, Edge::kNone>;
  kernels->sides[kChannels][kTaps] = &SumRows<kForm, kChannels, kTaps, kRows, Edge::kLanes>;
  kernels->edge[kChannels][kTaps] = &SumRows<kForm, kChannels, kTaps, kRows, Edge::kRowsAndLanes>;
  if constexpr (kTaps > 1) FillRowSums<kForm, kChannels, kRows, kTaps - 1>(kernels);
}

template <Form kForm>
const RowSumKernels& RowSumsOfTarget() {
  static const struct Table {
    RowSumKernels kernels{};
    Table() {
      kernels.lanes = static_cast<int>(kRowLanes);
      kernels.masks = kRowMasks;
      kernels.target = hwy::TargetName(HWY_TARGET);
#define CANOPY_ROW_SUMS(registers, channels, row_count, most) \
  if constexpr (registers == CANOPY_VECTOR_REGISTERS) {       \
    kernels.rows[channels] = row_count;                       \
    kernels.most_taps[channels] = most;                       \
    FillRowSums<kForm, channels, row_count, most>(&kernels);  \
  }
#include "kernels/row_sums/kernels.inc"
#undef CANOPY_ROW_SUMS
    }
  } table;
  return table.kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_ROW_SUMS_BODY_INL_H_
