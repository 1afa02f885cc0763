// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: vectors of rows of which some lanes exist, and results that leave past the caches.
#if defined(CANOPY_KERNELS_JOINT_PLANES_SEEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_SEEN_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_SEEN_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_SEEN_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/joint_planes/contract.h"
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

HWY_INLINE JointVec JointAddSome(const hn::Mask<JointTag>& some, JointVec to, JointVec v) {
#if HWY_TARGET <= HWY_AVX3
  to.raw = _mm512_mask_add_ps(to.raw, some.raw, to.raw, v.raw);
  return to;
#else
  return hn::Add(to, hn::IfThenElseZero(some, v));
#endif
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

// Where a plane's results go: to where they stay, or, where they are `streamed`, to a room that they leave together.
template <Form kForm, bool kMayStream>
class JointResultRows {
 public:
  using Element = cv::FormElement<kForm>;

  HWY_INLINE explicit JointResultRows(const JointCall& call) : call_(call) {}

  HWY_INLINE Element* Of(int64_t n) {
    if (kStreams && call_.streamed) return reinterpret_cast<Element*>(complete_);
    return reinterpret_cast<Element*>(call_.result.first + n * call_.result.plane);
  }
  // Of so many rows.
  HWY_INLINE void Leave(int64_t n, int64_t rows) const {
    if (!kStreams || !call_.streamed) return;
    float* to = reinterpret_cast<float*>(call_.result.first + n * call_.result.plane);
    JointStreamLines(complete_, rows * call_.result.row / static_cast<int64_t>(sizeof(float)), to);
  }

 private:
  static constexpr bool kStreams = kMayStream && !kJointHalf<kForm>;

  const JointCall& call_;
  HWY_ALIGN float complete_[kStreams ? kMostGatheredFloats : 1];
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_SEEN_INL_H_
