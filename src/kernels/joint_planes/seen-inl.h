// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: vectors of rows of which some lanes exist, and results that leave past the caches.
#if defined(CANOPY_KERNELS_JOINT_PLANES_SEEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_SEEN_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_SEEN_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_SEEN_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/joint_planes/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if !HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_SCALAR

// The lanes of a vector of elements from `from` to `to`, as far as it has them.
template <class D>
HWY_INLINE hn::Mask<D> JointLanes(D d, int64_t from, int64_t to) {
  const auto first = [&](int64_t count) {
    return hn::FirstN(d, static_cast<size_t>(HWY_MIN(HWY_MAX(count, 0), kJointLanes)));
  };
  return hn::AndNot(first(from), first(to));
}

template <Form kForm, class Mask>
HWY_INLINE JointVec JointLoadSeen(Mask seen, const cv::FormElement<kForm>* from) {
  const cv::ElementTag<TypeOf(kForm), JointTag> d;
  return cv::FromElements<TypeOf(kForm)>(JointTag(), hn::MaskedLoad(seen, d, from));
}

template <Form kForm, bool kFull, class Mask>
HWY_INLINE void JointStoreSeen(JointVec v, Mask seen, cv::FormElement<kForm>* to) {
  const cv::ElementTag<TypeOf(kForm), JointTag> d;
  hn::BlendedStore(cv::ToElements<TypeOf(kForm), false, JointHeld(kFull)>(JointTag(), v), seen, d, to);
}

// Results that are complete, whole lines, past the caches.
HWY_INLINE void JointStreamLines(const float* HWY_RESTRICT complete, int64_t count, float* HWY_RESTRICT to) {
  const JointTag d;
  for (int64_t i = 0; i < count; i += kJointLanes) hn::Stream(hn::Load(d, complete + i), d, to + i);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_SEEN_INL_H_
