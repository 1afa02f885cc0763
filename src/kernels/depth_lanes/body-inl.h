// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_DEPTH_LANES_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_DEPTH_LANES_BODY_INL_H_
#undef CANOPY_KERNELS_DEPTH_LANES_BODY_INL_H_
#else
#define CANOPY_KERNELS_DEPTH_LANES_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "kernels/ask.h"
#include "kernels/depth_lanes/contract.h"
#include "kernels/joint_planes/taps-inl.h"
#include "kernels/streams.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Lines of one tensor are asked for two at a time: one by one, memory gives three quarters of what it can.
HWY_INLINE void AskForTwoLines(const char* from) {
  Ask(from);
  Ask(from + kMemoryLine);
}

// All lines that `bytes` of memory begin.
template <bool kWrites>
HWY_INLINE void AskForBytes(const char* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kMemoryLine) {
    if constexpr (kWrites) AskToWrite(from + i);
    if constexpr (!kWrites) Ask(from + i);
  }
}

template <int kRows, int kColumns, bool kData, bool kWeights, bool kFar>
void DepthPlaneRows(const DepthCall& call) {
  constexpr int kTaps = kRows * kColumns;
  constexpr int kSums = JointSumsAtOnce(kTaps, 4);  // of a tap, for columns that follow one another
  constexpr int kAtOnce = kFar ? HWY_MAX(kSums, 2) : kSums;
  const JointTag d;
  const int64_t g_row = call.g_row, x_column = call.x.column;
  const int64_t before_column = call.before.column, to_column = call.result.column;
  const char *ahead0 = call.ahead[0].from, *ahead1 = call.ahead[1].from;
  JointVec tap[kTaps], sum[kSums * kTaps];
  const auto offset = [&](int t)
                          CANOPY_JOINT_LAMBDA { return t / kColumns * call.tap_row + t % kColumns * call.tap_column; };
  JointEach<(kData ? kTaps : 0)>([&](auto t) CANOPY_JOINT_LAMBDA { tap[t] = hn::LoadU(d, call.taps + offset(t)); });
  JointEach<kSums * kTaps>([&](auto i) CANOPY_JOINT_LAMBDA { sum[i] = hn::Zero(d); });
  for (int64_t y = 0; y < call.rows; ++y) {
    const float *g = call.g + y * g_row, *x = call.x.first + y * call.x.row;
    const float* before = call.before.first + y * call.before.row;
    float* to = call.result.first + y * call.result.row;
    if constexpr (!kFar) {
      const int64_t pixels = y * call.columns;
      AskForBytes<false>(ahead0 + pixels * call.ahead[0].step, call.columns * call.ahead[0].step);
      AskForBytes<false>(ahead1 + pixels * call.ahead[1].step, call.columns * call.ahead[1].step);
      AskForBytes<true>(call.ahead[2].from + pixels * call.ahead[2].step, call.columns * call.ahead[2].step);
    }
    int64_t left = call.columns;
    const auto add_columns = [&](auto count) CANOPY_JOINT_LAMBDA {
      for (; left >= count; left -= count) {
        JointEach<count>([&](auto p) CANOPY_JOINT_LAMBDA {
          if constexpr (kFar) {
            if (p % 2 == 0) AskForTwoLines(ahead0);
            if (kWeights && (p % 2 == 1 || count == 1)) AskForTwoLines(ahead1);
            ahead0 += call.ahead[0].step;
            ahead1 += call.ahead[1].step;
          }
          const JointVec source = kWeights ? hn::LoadU(d, x + p * x_column) : hn::Zero(d);
          JointVec result = kData ? hn::LoadU(d, before + p * before_column) : hn::Zero(d);
          JointEach<kTaps>([&](auto t) CANOPY_JOINT_LAMBDA {
            const JointVec gradient =
                JointOnce(hn::LoadU(d, g - t / kColumns * g_row + (p - t % kColumns) * kJointLanes));
            if constexpr (kData) result = hn::MulAdd(tap[t], gradient, result);
            if constexpr (kWeights) {
              constexpr int i = p % kSums * kTaps + t;
              sum[i] = hn::MulAdd(source, gradient, sum[i]);
            }
          });
          if constexpr (kData && kFar) {
            hn::Stream(result, d, to + p * to_column);
          } else if constexpr (kData) {
            hn::StoreU(result, d, to + p * to_column);
          }
        });
        g += count * kJointLanes;
        x += count * x_column;
        before += count * before_column;
        to += count * to_column;
      }
    };
    add_columns(std::integral_constant<int, kAtOnce>());
    if constexpr (kAtOnce > 1) add_columns(std::integral_constant<int, 1>());
  }
  if constexpr (!kWeights) return;
  JointEach<(kSums - 1) * kTaps>([&](auto i)
                                     CANOPY_JOINT_LAMBDA { sum[i % kTaps] = hn::Add(sum[i % kTaps], sum[kTaps + i]); });
  JointEach<kTaps>([&](auto t) CANOPY_JOINT_LAMBDA {
    float* at = call.sums + offset(t);
    hn::StoreU(hn::Add(hn::LoadU(d, at), sum[t]), d, at);
  });
}

template <int kRows, int kColumns, bool kData, bool kWeights>
void DepthPlane(const DepthCall& call) {
  if constexpr (kJointLanes == kMemoryLineFloats) {
    if (call.far) return DepthPlaneRows<kRows, kColumns, kData, kWeights, true>(call);
  }
  DepthPlaneRows<kRows, kColumns, kData, kWeights, false>(call);
}

inline void AddUpPixels(const float* from, int64_t count, float* sum) {
  const JointTag d;
  constexpr int64_t kBlock = 1024;  // four chains of at most 256 terms
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = HWY_MIN(count, begin + kBlock);
    JointVec s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    int64_t i = begin;
    for (; i + 4 <= end; i += 4) {
      const float* at = from + i * kJointLanes;
      s0 = hn::Add(s0, hn::LoadU(d, at));
      s1 = hn::Add(s1, hn::LoadU(d, at + kJointLanes));
      s2 = hn::Add(s2, hn::LoadU(d, at + 2 * kJointLanes));
      s3 = hn::Add(s3, hn::LoadU(d, at + 3 * kJointLanes));
    }
    for (; i < end; ++i) s0 = hn::Add(s0, hn::LoadU(d, from + i * kJointLanes));
    hn::StoreU(hn::Add(hn::LoadU(d, sum), hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))), d, sum);
  }
}

// ---- the list ------------------------------------------------------------------------------------------------------

template <int kRows, int kColumns>
void FillDepthColumns(DepthKernels* kernels) {
  kernels->kernels[kDepthBoth][kRows][kColumns] = &DepthPlane<kRows, kColumns, true, true>;
  kernels->kernels[kDepthData][kRows][kColumns] = &DepthPlane<kRows, kColumns, true, false>;
  kernels->kernels[kDepthWeights][kRows][kColumns] = &DepthPlane<kRows, kColumns, false, true>;
  kernels->most_columns[kRows] = HWY_MAX(kernels->most_columns[kRows], kColumns);
  if constexpr (kColumns > 1) FillDepthColumns<kRows, kColumns - 1>(kernels);
}

inline const DepthKernels& DepthLanesOfTarget() {
  static const struct Table {
    DepthKernels kernels{};
    Table() {
      kernels.lanes = static_cast<int>(kJointLanes);
      kernels.target = hwy::TargetName(HWY_TARGET);
      kernels.add_up = &AddUpPixels;
#define CANOPY_DEPTH_LANES(registers, rows, columns) \
  if constexpr (registers == CANOPY_VECTOR_REGISTERS) FillDepthColumns<rows, columns>(&kernels);
#include "kernels/depth_lanes/kernels.inc"
#undef CANOPY_DEPTH_LANES
    }
  } table;
  return table.kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_DEPTH_LANES_BODY_INL_H_
