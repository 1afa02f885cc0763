// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: kernels that take each row of g once, for all rows that meet it. What moves lanes takes as
// long as what multiplies, and so rows of g are moved once for each column instead of once for each tap, or, where a
// room without edges is worth its copies, loaded from there.
#if defined(CANOPY_KERNELS_JOINT_PLANES_ROLLING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_ROLLING_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_ROLLING_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_ROLLING_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/joint_planes/contract.h"
#include "kernels/joint_planes/rolling_rows-inl.h"
#include "kernels/joint_planes/rolling_weights-inl.h"
#include "kernels/joint_planes/seen-inl.h"
#include "kernels/joint_planes/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if !HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_SCALAR

// kVectors that lie side by side, in all rows, with the sum of what `bias` counts added to it. There are two chains of
// sums, for each waits for its last term: of two vectors, or of one vector's even and odd kernel columns.
template <Form kForm, int kSize, bool kAdds, int kVectors>
HWY_INLINE void JointRollData(const JointCall& call, int64_t n, int64_t v, cv::FormElement<kForm>* to,
                              JointAsking* ahead, JointVec* bias) {
  using Element = cv::FormElement<kForm>;
  const JointTag d;
  constexpr int64_t kBytes = static_cast<int64_t>(sizeof(Element));
  const int64_t g_row = call.g.row / kBytes, to_row = call.result.row / kBytes;
  const bool counts = call.bias != nullptr;
  const float* taps = call.taps + n * call.taps_plane;
  const auto lanes = JointColumns<kForm>(call, v + kVectors - 1);  // of the vectors before all exist
  const JointRowOfG<kForm> first(call, v), last(call, v + kVectors - 1);
  const Element* g =
      reinterpret_cast<const Element*>(call.g.first + n * call.g.plane) + v * kJointLanes + (1 - kSize) * g_row;
  to += v * kJointLanes;
  // As many taps as there are registers are kept; the others are read as they are multiplied.
  constexpr int kHeld = 25 - 2 * kSize - 3 * kVectors, kLoaded = kSize * kSize - kHeld;
  JointVec held[kHeld + 1];
  JointEach<kHeld>([&](auto t) CANOPY_JOINT_LAMBDA { held[t] = hn::Set(d, taps[kLoaded + t]); });
  constexpr int64_t kLast = (kVectors - 1) * kJointLanes;
  JointVec sum[2][kSize];  // of rows from the one that is next complete
  JointEach<2 * kSize>([&](auto i) CANOPY_JOINT_LAMBDA { sum[i / kSize][i % kSize] = hn::Zero(d); });
  const auto add_row = [&](auto known, int64_t y) CANOPY_JOINT_LAMBDA {
    constexpr bool kKnown = known;
    if (kKnown || (y >= call.g_top && y < call.g_bottom)) {
      asm volatile("" : "+r"(taps));  // or all are read here, most of them only to be put back into memory
      JointVec line[kVectors + 1];
      line[0] = first.Before(g);
      line[1] = first.Here(g);
      if constexpr (kVectors == 2) line[2] = last.Here(g + kJointLanes);
      if (counts && (kKnown || y >= call.g_counted)) {
        *bias = first.AddOwn(*bias, line[1], line[0]);
        if constexpr (kVectors == 2) *bias = hn::Add(*bias, line[2]);
      }
      JointEach<kVectors + 1>([&](auto i) CANOPY_JOINT_LAMBDA {
        line[i] = cv::RoundVec<RoundingOf(kForm), false, cv::Held::kNone>(d, line[i]);
      });
      JointEach<kSize>([&](auto column) CANOPY_JOINT_LAMBDA {
        JointVec shift[kVectors];
        JointEach<kVectors>([&](auto i) CANOPY_JOINT_LAMBDA { shift[i] = JointShifted<column>(line[i + 1], line[i]); });
        JointEach<kSize>([&](auto r) CANOPY_JOINT_LAMBDA {
          constexpr int kTap = r * kSize + column;
          JointVec tap;
          if constexpr (kTap < kLoaded) tap = hn::Set(d, taps[kTap]);
          if constexpr (kTap >= kLoaded) tap = held[kTap - kLoaded];
          JointEach<kVectors>([&](auto i) CANOPY_JOINT_LAMBDA {
            JointVec* of = sum[kVectors == 2 ? i : column % 2];
            of[r] = hn::MulAdd(tap, shift[i], of[r]);
          });
        });
      });
    }
    if (kKnown || y >= 0) {
      ahead->template Ask<true>();
      JointVec result = sum[1][0];  // of the last vector
      if constexpr (kVectors == 2) {
        ahead->template Ask<true>();
        if constexpr (kAdds) sum[0][0] = hn::Add(sum[0][0], cv::LoadVec<TypeOf(kForm)>(d, to));
        JointStore<kForm, true>(std::false_type(), sum[0][0], to, kJointLanes);
      } else {
        result = hn::Add(sum[0][0], result);
      }
      if constexpr (kAdds) result = hn::Add(result, JointLoadSeen<kForm>(lanes, to + kLast));
      JointStoreSeen<kForm, true>(result, lanes, to + kLast);
      to += to_row;
    }
    JointEach<2 * (kSize - 1)>([&](auto i) CANOPY_JOINT_LAMBDA { sum[i % 2][i / 2] = sum[i % 2][i / 2 + 1]; });
    sum[0][kSize - 1] = sum[1][kSize - 1] = hn::Zero(d);
    g += g_row;
  };
  JointEachRow<kSize>(call, HWY_MIN(call.g_bottom, call.rows), add_row);
}

template <Form kForm, int kSize, bool kAdds>
void JointRollingData(const JointCall& call) {
  const JointTag d;
  JointResultRows<kForm, !kAdds> results(call);
  for (int64_t n = 0; n < call.planes; ++n) {
    JointVec bias = hn::Zero(d);
    JointAsking ahead(call, n);
    auto* const to = results.Of(n);
    int64_t v = 0;
    for (; v + 2 <= call.vectors; v += 2) JointRollData<kForm, kSize, kAdds, 2>(call, n, v, to, &ahead, &bias);
    if (v < call.vectors) JointRollData<kForm, kSize, kAdds, 1>(call, n, v, to, &ahead, &bias);
    results.Leave(n, call.rows);
    if (call.bias != nullptr) call.bias[n] += hn::GetLane(hn::SumOfLanes(d, bias));
  }
}

// ---- both ----------------------------------------------------------------------------------------------------------

// Both gradients under three rows and columns, or the weights' alone: registers hold all taps and sums beside the rows
// of x and of results that a row of g meets.
template <Form kForm, bool kData, bool kAdds>
void JointRollingBoth(const JointCall& call) {
  using Element = cv::FormElement<kForm>;
  const JointTag d;
  constexpr int kSize = 3;
  constexpr int64_t kBytes = static_cast<int64_t>(sizeof(Element));
  const int64_t g_row = call.g.row / kBytes, x_row = call.x.row / kBytes, to_row = call.result.row / kBytes;
  const int64_t outside = HWY_MIN(call.g_bottom, call.rows + 1 - kSize);  // rows behind meet some that do not exist
  const auto round = [&](JointVec v) CANOPY_JOINT_LAMBDA { return cv::RoundVec<RoundingOf(kForm), false>(d, v); };
  JointResultRows<kForm, kData && !kAdds> results(call);
  for (int64_t n = 0; n < call.planes; ++n) {
    const float* taps = call.taps + n * call.taps_plane;
    JointVec tap[kSize * kSize], sum[kSize * kSize], bias = hn::Zero(d);
    JointEach<kSize * kSize>([&](auto t) CANOPY_JOINT_LAMBDA {
      if constexpr (kData) tap[t] = hn::Set(d, taps[t]);
      sum[t] = hn::Zero(d);
    });
    JointAsking ahead(call, n);
    for (int64_t v = 0; v < call.vectors; ++v) {
      const auto lanes = JointColumns<kForm>(call, v);
      const JointRowOfG<kForm> row(call, v);
      const Element* g =
          reinterpret_cast<const Element*>(call.g.first + n * call.g.plane) + v * kJointLanes + (1 - kSize) * g_row;
      const Element* x = reinterpret_cast<const Element*>(call.x.first + n * call.x.plane) + v * kJointLanes;
      Element* to = results.Of(n) + v * kJointLanes;
      JointVec source[kSize], result[kSize];
      JointEach<kSize>([&](auto r) CANOPY_JOINT_LAMBDA { source[r] = result[r] = hn::Zero(d); });
      // Row y of g.
      const auto add_row = [&](auto known, int64_t y) CANOPY_JOINT_LAMBDA {
        constexpr bool kKnown = known;
        constexpr int kLast = kSize - 1;
        source[kLast] = result[kLast] = hn::Zero(d);
        if (kKnown || y + kSize <= call.rows) {
          source[kLast] = round(JointOnce(JointLoadSeen<kForm>(lanes, x)));
          x += x_row;
        }
        if (kKnown || (y >= call.g_top && y < call.g_bottom)) {
          JointVec here = row.Here(g), before = row.Before(g);
          if (kKnown || y >= call.g_counted) bias = row.AddOwn(bias, here, before);
          here = round(here);
          before = round(before);
          JointEach<kSize>([&](auto s) CANOPY_JOINT_LAMBDA {
            const JointVec shift = JointShifted<s>(here, before);
            JointEach<kSize>([&](auto r) CANOPY_JOINT_LAMBDA {
              constexpr int kTap = r * kSize + s;
              constexpr bool kNew = r == kSize - 1 && s == 0;  // 0 would take a register
              if constexpr (kData && kNew) result[r] = hn::Mul(tap[kTap], shift);
              if constexpr (kData && !kNew) result[r] = hn::MulAdd(tap[kTap], shift, result[r]);
              sum[kTap] = hn::MulAdd(source[r], shift, sum[kTap]);
            });
          });
        }
        g += g_row;
        if (kKnown || y >= 0) {
          ahead.template Ask<kData>();
          if constexpr (kData) {
            if constexpr (kAdds) result[0] = hn::Add(result[0], JointLoadSeen<kForm>(lanes, to));
            JointStoreSeen<kForm, true>(result[0], lanes, to);
            to += to_row;
          }
        }
        JointEach<kSize - 1>([&](auto r) CANOPY_JOINT_LAMBDA {
          source[r] = source[r + 1];
          result[r] = result[r + 1];
        });
      };
      JointEachRow<kSize>(call, outside, add_row);
    }
    results.Leave(n, call.rows);
    float* sums = call.sums + n * call.sums_plane;
    JointEach<kSize * kSize>([&](auto t) CANOPY_JOINT_LAMBDA { JointAddTo(sums + t * kJointLanes, sum[t]); });
    if (call.bias != nullptr) call.bias[n] += hn::GetLane(hn::SumOfLanes(d, bias));
  }
}

template <Form kForm>
void JointRollingBothPlanes(const JointCall& call) {
  if constexpr (!kJointHalf<kForm>) {
    if (call.adds) return JointRollingBoth<kForm, true, true>(call);
  }
  JointRollingBoth<kForm, true, false>(call);
}

template <Form kForm, int kSize>
void JointRollingDataPlanes(const JointCall& call) {
  if constexpr (!kJointHalf<kForm>) {
    if (call.adds) return JointRollingData<kForm, kSize, true>(call);
  }
  JointRollingData<kForm, kSize, false>(call);
}

template <Form kForm, int kSize>
void FillJointRollingSize(JointKernels* kernels) {
  kernels->rolling[kJointData][kSize] = &JointRollingDataPlanes<kForm, kSize>;
  if constexpr (kForm == Form::kFloat32 && kSize * kSize <= kMostRollingSums) {
    kernels->rolling[kJointWeights][kSize] = &JointRollingWeightsInPlace<kForm, kSize>;
  } else {
    kernels->rolling[kJointWeights][kSize] = &JointRollingWeights<kForm, kSize>;
  }
}

template <Form kForm>
void FillJointRolling(JointKernels* kernels) {
  if constexpr (CANOPY_VECTOR_REGISTERS >= 32 && kJointShifts) {
    kernels->rolling[kJointBoth][3] = &JointRollingBothPlanes<kForm>;
    kernels->rolling[kJointData][3] = &JointRollingDataPlanes<kForm, 3>;
    kernels->rolling[kJointWeights][3] = &JointRollingBoth<kForm, false, false>;
    FillJointRollingSize<kForm, 5>(kernels);
    FillJointRollingSize<kForm, 7>(kernels);
  }
}

#else

template <Form kForm>
void FillJointRolling(JointKernels*) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_ROLLING_INL_H_
