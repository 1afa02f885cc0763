// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: kernels of three columns where columns have a stride of 2.
#if defined(CANOPY_KERNELS_JOINT_PLANES_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_PAIRS_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_PAIRS_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_PAIRS_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/joint_planes/contract.h"
#include "kernels/joint_planes/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if !HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_SCALAR

template <int kRows, bool kEven, bool kData, bool kWeights>
void JointPairs(const JointCall& call) {
  constexpr int64_t kLineBytes = 64;
  const JointTag d;
  const int64_t last = call.last_lanes, whole = (call.vectors - (last > 0 ? 1 : 0)) * kJointLanes;
  const auto tail0 = hn::FirstN(d, static_cast<size_t>(HWY_MIN(last, kJointLanes)));
  const auto tail1 = hn::FirstN(d, static_cast<size_t>(HWY_MAX(last - kJointLanes, 0)));
  HWY_ALIGN int32_t twice[2 * kJointLanes];
  for (int i = 0; i < 2 * kJointLanes; ++i) twice[i] = i / 2;
  const auto low = hn::SetTableIndices(d, twice), high = hn::SetTableIndices(d, twice + kJointLanes);
  JointTaps<kRows, 3, kData, kWeights> taps(call);
  for (int64_t n = 0; n < call.images; ++n) {
    const float *g = call.g.first + n * call.g.image, *x = call.x.first + n * call.x.image;
    float* to = call.result.first + n * call.result.image;
    const char *ahead0 = call.ahead[0].from + n * call.ahead[0].image,
               *ahead1 = call.ahead[1].from + n * call.ahead[1].image,
               *ahead2 = call.ahead[2].from + n * call.ahead[2].image;
    // One vector of even and one of odd columns, or what the last ones have.
    const auto add = [&](auto is_last, int64_t i) CANOPY_JOINT_LAMBDA {
      __builtin_prefetch(ahead0, 0, 3);
      __builtin_prefetch(ahead1, 0, 3);
      __builtin_prefetch(ahead1 + kLineBytes, 0, 3);
      if constexpr (kData) __builtin_prefetch(ahead2, 1, 3);
      if constexpr (kData) __builtin_prefetch(ahead2 + kLineBytes, 1, 3);
      ahead0 += call.ahead[0].step;
      ahead1 += call.ahead[1].step;
      ahead2 += call.ahead[2].step;
      JointVec source[2], result[2] = {hn::Zero(d), hn::Zero(d)};
      if constexpr (kWeights) {
        const float* from = x + 2 * i;
        const JointVec a = is_last ? hn::MaskedLoad(tail0, d, from) : hn::LoadU(d, from);
        const JointVec b = is_last ? hn::MaskedLoad(tail1, d, from + kJointLanes) : hn::LoadU(d, from + kJointLanes);
        source[0] = hn::ConcatEven(d, b, a);
        source[1] = hn::ConcatOdd(d, b, a);
      }
      taps.template AddPair<kEven>(g + i, call.g.row, source, result);
      if constexpr (kData) {
        const JointVec a = hn::OddEven(hn::TableLookupLanes(result[1], low), hn::TableLookupLanes(result[0], low));
        const JointVec b = hn::OddEven(hn::TableLookupLanes(result[1], high), hn::TableLookupLanes(result[0], high));
        float* at = to + 2 * i;
        is_last ? hn::BlendedStore(a, tail0, d, at) : hn::StoreU(a, d, at);
        is_last ? hn::BlendedStore(b, tail1, d, at + kJointLanes) : hn::StoreU(b, d, at + kJointLanes);
      }
    };
    for (int64_t y = 0; y < call.rows; ++y) {
      for (int64_t i = 0; i < whole; i += kJointLanes) add(std::false_type(), i);
      if (last > 0) add(std::true_type(), whole);
      g += call.g.row;
      x += call.x.row;
      to += call.result.row;
    }
  }
  if constexpr (kWeights) taps.StoreSums(call);
}

template <int kRows>
void FillJointPairs(JointKernels* kernels) {
  kernels->pairs[kJointBoth][kRows][false] = &JointPairs<kRows, false, true, true>;
  kernels->pairs[kJointBoth][kRows][true] = &JointPairs<kRows, true, true, true>;
  kernels->pairs[kJointData][kRows][false] = &JointPairs<kRows, false, true, false>;
  kernels->pairs[kJointData][kRows][true] = &JointPairs<kRows, true, true, false>;
  kernels->pairs[kJointWeights][kRows][false] = &JointPairs<kRows, false, false, true>;
  kernels->pairs[kJointWeights][kRows][true] = &JointPairs<kRows, true, false, true>;
  if constexpr (kRows > 1) FillJointPairs<kRows - 1>(kernels);
}

#else

template <int kRows>
void FillJointPairs(JointKernels*) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_PAIRS_INL_H_
