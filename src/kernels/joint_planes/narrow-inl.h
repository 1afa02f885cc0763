// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: kernels of three rows and three columns over rows of one vector, which get a row's
// neighbours from its own lanes.
#if defined(CANOPY_KERNELS_JOINT_PLANES_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_NARROW_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_NARROW_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_NARROW_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "kernels/ask.h"
#include "kernels/joint_planes/contract.h"
#include "kernels/joint_planes/seen-inl.h"
#include "kernels/joint_planes/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3

// What stands next to each lane, on the right (1) or on the left (-1); zero where nothing does.
template <int kSide>
HWY_INLINE JointVec JointNeighbour(JointVec v) {
  constexpr __mmask16 kHas = kSide > 0 ? 0x7FFF : 0xFFFE;
  const __m512i lanes = _mm512_castps_si512(v.raw);
  v.raw = _mm512_castsi512_ps(_mm512_maskz_alignr_epi32(kHas, lanes, lanes, kSide & 15));
  return v;
}

template <Form kForm, bool kData, bool kWeights, bool kAdds>
void JointNarrowRows(const JointCall& call) {
  constexpr bool kFull = kData && kWeights;
  using Element = cv::FormElement<kForm>;
  const JointTag d;
  constexpr int64_t kLineBytes = 64, kBytes = static_cast<int64_t>(sizeof(Element));
  const auto lanes = JointLanes(cv::ElementTag<TypeOf(kForm), JointTag>(), 0, call.last_lanes);
  const int64_t g_row = call.g.row / kBytes, x_row = call.x.row / kBytes, to_row = call.result.row / kBytes;
  // Rows whose results are complete leave together, as whole lines.
  HWY_ALIGN float complete[kJointNarrowRows * kJointLanes];
  for (int64_t n = 0; n < call.planes; ++n) {
    JointTaps<Form::kFloat32, 3, 3, kData, kWeights> taps(call, n);
    JointVec bias = hn::Zero(d);
    const Element* g = reinterpret_cast<const Element*>(call.g.first + n * call.g.plane);
    const Element* x = reinterpret_cast<const Element*>(call.x.first + n * call.x.plane);
    Element* to = reinterpret_cast<Element*>(call.result.first + n * call.result.plane);
    const char *ahead0 = call.ahead[0].Of(n, call.distance, call.planes),
               *ahead1 = call.ahead[1].Of(n, call.distance, call.planes),
               *ahead2 = call.ahead[2].Of(n, call.distance, call.planes);
    // Some rows; is there one before them, one behind?
    const auto add_rows = [&](auto count, auto above, auto below) CANOPY_JOINT_LAMBDA {
      constexpr int kCount = count;
      const bool streamed = kData && !kAdds && !kJointHalf<kForm> && kCount == kJointNarrowRows && call.streamed;
      Element* const written = streamed ? reinterpret_cast<Element*>(complete) : to;
      JointVec source[kCount], result[kCount];
      JointEach<kCount>([&](auto y) CANOPY_JOINT_LAMBDA {
        JointAsk<kData>(ahead0 + y * kLineBytes);
        JointAsk<kData>(ahead1 + y * kLineBytes);
        if constexpr (kData) AskToWrite(ahead2 + y * kLineBytes);
        source[y] = hn::Zero(d);
        result[y] = kAdds ? JointLoadSeen<kForm>(lanes, to + y * to_row) : hn::Zero(d);
      });
      ahead0 += kCount * call.ahead[0].step;
      ahead1 += kCount * call.ahead[1].step;
      ahead2 += kCount * call.ahead[2].step;
      constexpr int kFirst = above ? -2 : -1;
      JointVec centre = hn::Zero(d);
      const auto load = [&](auto row, auto column) CANOPY_JOINT_LAMBDA {
        // A position's input is loaded beside the first of its gradients: registers are short.
        JointEach<(kWeights && column == 0 ? kCount : 0)>([&](auto y) CANOPY_JOINT_LAMBDA {
          constexpr bool kNow = y == row + 2 || (row == kFirst && y < row + 2);
          if constexpr (kNow) {
            source[y] =
                cv::RoundVec<RoundingOf(kForm), false, JointHeld(kData)>(d, JointLoadSeen<kForm>(lanes, x + y * x_row));
          }
        });
        if constexpr (column == 0) {
          centre = JointOnce(JointLoadSeen<kForm>(lanes, g + (row + 1) * g_row));
          if constexpr (row >= -1 && row + 1 < kCount) bias = hn::Add(bias, centre);  // the positions' own
          centre = cv::RoundVec<RoundingOf(kForm), false, JointHeld(kFull)>(d, centre);
        }
        if constexpr (column == 1) return centre;
        return JointNeighbour<1 - column>(centre);
      };
      taps.template Add<kCount, kFirst, below ? kCount : kCount - 1>(load, source, result);
      if constexpr (kData) {
        JointEach<kCount>([&](auto y) CANOPY_JOINT_LAMBDA {
          JointStoreSeen<kForm, kWeights>(result[y], lanes, written + y * to_row);
        });
      }
      if constexpr (!kJointHalf<kForm>) {
        if (streamed) JointStreamLines(complete, kCount * to_row, to);
      }
      g += kCount * g_row;
      x += kCount * x_row;
      to += kCount * to_row;
    };
    constexpr std::integral_constant<int, kJointNarrowRows> kMany;
    constexpr std::true_type kYes;
    constexpr std::false_type kNo;
    int64_t left = call.rows;
    if (!call.above) {
      add_rows(kMany, kNo, kYes);
      left -= kMany;
    }
    for (; left > (call.below ? 0 : kMany.value); left -= kMany) add_rows(kMany, kYes, kYes);
    JointEach<kJointNarrowRows>([&](auto less) CANOPY_JOINT_LAMBDA {
      constexpr std::integral_constant<int, less + 1> kRest;
      if (!call.below && left == kRest) add_rows(kRest, kYes, kNo);
    });
    if constexpr (kWeights) taps.StoreSums(call, n);
    if (call.bias != nullptr) call.bias[n] += hn::GetLane(hn::SumOfLanes(d, bias));
  }
}

template <Form kForm, bool kData, bool kWeights>
void JointNarrow(const JointCall& call) {
  if constexpr (kData && !kJointHalf<kForm>) {
    if (call.adds) return JointNarrowRows<kForm, kData, kWeights, true>(call);
  }
  JointNarrowRows<kForm, kData, kWeights, false>(call);
}

template <Form kForm>
void FillJointNarrow(JointKernels* kernels) {
  kernels->narrow[kJointBoth] = &JointNarrow<kForm, true, true>;
  kernels->narrow[kJointData] = &JointNarrow<kForm, true, false>;
  kernels->narrow[kJointWeights] = &JointNarrow<kForm, false, true>;
}

#else

template <Form kForm>
void FillJointNarrow(JointKernels*) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_NARROW_INL_H_
