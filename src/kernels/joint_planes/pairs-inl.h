// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: kernels of three columns where columns have a stride of 2.
#if defined(CANOPY_KERNELS_JOINT_PLANES_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_PAIRS_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_PAIRS_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_PAIRS_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/ask.h"
#include "kernels/joint_planes/contract.h"
#include "kernels/joint_planes/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if (!HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_SCALAR) || HWY_TARGET == HWY_AVX2

// Beside the weights and sums two vectors each and one of g.
template <int kRows>
inline constexpr bool kJointPairsOfBoth = 2 * 3 * kRows + 5 <= CANOPY_VECTOR_REGISTERS;

template <Form kForm, int kRows, bool kEven, bool kData, bool kWeights, bool kAdds>
void JointPairRows(const JointCall& call) {
  using Element = cv::FormElement<kForm>;
  constexpr int64_t kLineBytes = 64, kBytes = static_cast<int64_t>(sizeof(Element));
  const JointTag d;
  const int64_t last = call.last_lanes, whole = (call.vectors - (last > 0 ? 1 : 0)) * kJointLanes;
  const int64_t last0 = HWY_MIN(last, kJointLanes), last1 = HWY_MAX(last - kJointLanes, 0);
  HWY_ALIGN int32_t twice[2 * kJointLanes];
  for (int i = 0; i < 2 * kJointLanes; ++i) twice[i] = i / 2;
  const auto low = hn::SetTableIndices(d, twice), high = hn::SetTableIndices(d, twice + kJointLanes);
  const int64_t g_row = call.g.row / static_cast<int64_t>(sizeof(float));
  for (int64_t n = 0; n < call.planes; ++n) {
    JointTaps<kForm, kRows, 3, kData, kWeights> taps(call, n);
    const float* g = reinterpret_cast<const float*>(call.g.first + n * call.g.plane);
    const Element* x = reinterpret_cast<const Element*>(call.x.first + n * call.x.plane);
    Element* to = reinterpret_cast<Element*>(call.result.first + n * call.result.plane);
    const char *ahead0 = call.ahead[0].Of(n, call.distance, call.planes),
               *ahead1 = call.ahead[1].Of(n, call.distance, call.planes),
               *ahead2 = call.ahead[2].Of(n, call.distance, call.planes);
    // One vector of even and one of odd columns, or what the last ones have.
    const auto add = [&](auto is_last, int64_t i) CANOPY_JOINT_LAMBDA {
      JointAsk<kData>(ahead0);
      JointAsk<kData>(ahead1);
      if constexpr (!kJointHalf<kForm>) JointAsk<kData>(ahead1 + kLineBytes);
      if constexpr (kData) AskToWrite(ahead2);
      if constexpr (kData && !kJointHalf<kForm>) AskToWrite(ahead2 + kLineBytes);
      ahead0 += call.ahead[0].step;
      ahead1 += call.ahead[1].step;
      ahead2 += call.ahead[2].step;
      JointVec source[2], result[2] = {hn::Zero(d), hn::Zero(d)};
      if constexpr (kWeights) {
        const JointVec a = JointLoad<kForm, kData>(is_last, x + 2 * i, last0);
        const JointVec b = JointLoad<kForm, kData>(is_last, x + 2 * i + kJointLanes, last1);
        source[0] = hn::ConcatEven(d, b, a);
        source[1] = hn::ConcatOdd(d, b, a);
      }
      if constexpr (kAdds) {
        const JointVec a = JointLoad<Form::kFloat32, kData>(is_last, to + 2 * i, last0);
        const JointVec b = JointLoad<Form::kFloat32, kData>(is_last, to + 2 * i + kJointLanes, last1);
        result[0] = hn::ConcatEven(d, b, a);
        result[1] = hn::ConcatOdd(d, b, a);
      }
      taps.template AddPair<kEven>(g + i, g_row, source, result);
      if constexpr (kData) {
        const JointVec a = hn::OddEven(hn::TableLookupLanes(result[1], low), hn::TableLookupLanes(result[0], low));
        const JointVec b = hn::OddEven(hn::TableLookupLanes(result[1], high), hn::TableLookupLanes(result[0], high));
        if constexpr (TypeOf(kForm) == numerics::DType::kFloat32) {
          if (call.streamed) {
            hn::Stream(a, d, to + 2 * i);
            if (!is_last || last1 > 0) hn::Stream(b, d, to + 2 * i + kJointLanes);
            return;
          }
        }
        JointStore<kForm, kWeights>(is_last, a, to + 2 * i, last0);
        JointStore<kForm, kWeights>(is_last, b, to + 2 * i + kJointLanes, last1);
      }
    };
    for (int64_t y = 0; y < call.rows; ++y) {
      for (int64_t i = 0; i < whole; i += kJointLanes) add(std::false_type(), i);
      if (last > 0) add(std::true_type(), whole);
      g += g_row;
      x += call.x.row / kBytes;
      to += call.result.row / kBytes;
    }
    if constexpr (kWeights) taps.StoreSums(call, n);
  }
}

template <Form kForm, int kRows, bool kEven, bool kData, bool kWeights>
void JointPairs(const JointCall& call) {
  if constexpr (kData && !kJointHalf<kForm>) {
    if (call.adds) return JointPairRows<kForm, kRows, kEven, kData, kWeights, true>(call);
  }
  JointPairRows<kForm, kRows, kEven, kData, kWeights, false>(call);
}

template <Form kForm, int kRows>
void FillJointPairs(JointKernels* kernels) {
  if constexpr (kJointPairsOfBoth<kRows>) {
    kernels->pairs[kJointBoth][kRows][false] = &JointPairs<kForm, kRows, false, true, true>;
    kernels->pairs[kJointBoth][kRows][true] = &JointPairs<kForm, kRows, true, true, true>;
  }
  kernels->pairs[kJointWeights][kRows][false] = &JointPairs<kForm, kRows, false, false, true>;
  kernels->pairs[kJointWeights][kRows][true] = &JointPairs<kForm, kRows, true, false, true>;
  if constexpr (RoundingOf(kForm) == numerics::InputRounding::kNone) {
    kernels->pairs[kJointData][kRows][false] = &JointPairs<kForm, kRows, false, true, false>;
    kernels->pairs[kJointData][kRows][true] = &JointPairs<kForm, kRows, true, true, false>;
  }
  if constexpr (kRows > 1) FillJointPairs<kForm, kRows - 1>(kernels);
}

#else

template <Form kForm, int kRows>
void FillJointPairs(JointKernels*) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_PAIRS_INL_H_
