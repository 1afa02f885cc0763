// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: what rolling kernels have in common, the rows of g that vectors of positions meet and what
// memory is asked for meanwhile.
#if defined(CANOPY_KERNELS_JOINT_PLANES_ROLLING_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_ROLLING_ROWS_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_ROLLING_ROWS_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_ROLLING_ROWS_INL_H_
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

#if !HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_SCALAR

// Of x and results, the lanes of a vector that exist.
template <Form kForm>
HWY_INLINE auto JointColumns(const JointCall& call, int64_t v) {
  const bool last = v + 1 == call.vectors && call.last_lanes > 0;
  return JointLanes(cv::ElementTag<TypeOf(kForm), JointTag>(), 0, last ? call.last_lanes : kJointLanes);
}

// What of rows of g a vector of positions meets.
template <Form kForm>
class JointRowOfG {
 public:
  using Element = cv::FormElement<kForm>;

  HWY_INLINE JointRowOfG(const JointCall& call, int64_t v) {
    const cv::ElementTag<TypeOf(kForm), JointTag> d;
    const int64_t left = call.g_left - v * kJointLanes, right = call.g_right - v * kJointLanes;
    here_ = JointLanes(d, left, right);
    before_ = JointLanes(d, left + kJointLanes, right + kJointLanes);
    first_ = JointLanes(JointTag(), 0, left > -kJointLanes ? kJointLanes : 0);
  }

  // What position 0 meets first, and what is before that.
  HWY_INLINE JointVec Here(const Element* g) const { return JointOnce(JointLoadSeen<kForm>(here_, g)); }
  HWY_INLINE JointVec Before(const Element* g) const {
    return JointOnce(JointLoadSeen<kForm>(before_, g - kJointLanes));
  }
  // The sum with both, but for what is another vector's.
  HWY_INLINE JointVec AddOwn(JointVec sum, JointVec here, JointVec before) const {
    return JointAddSome(first_, hn::Add(sum, here), before);
  }

 private:
  hn::Mask<cv::ElementTag<TypeOf(kForm), JointTag>> here_, before_;
  hn::Mask<JointTag> first_;
};

// Calls row(known, y) for all rows y of g that positions meet. Those before `outside` that exist, are counted and are
// the last to meet some position are known to need no questions.
template <int kSize, class Row>
HWY_INLINE void JointEachRow(const JointCall& call, int64_t outside, const Row& row) {
  const int64_t inside = HWY_MAX(0, HWY_MAX(call.g_top, call.g_counted));
  for (int64_t y = 1 - kSize; y < call.rows;) {
    if (y == inside && inside < outside) {
      for (; y < outside; ++y) row(std::true_type(), y);
    } else {
      row(std::false_type(), y++);
    }
  }
}

// What is asked for meanwhile, some of it with each vector of a row. Small planes have room in the L1 beside those that
// are multiplied. Tensors whose rows are shorter than the others' are asked for sooner: one step for all is fewer
// instructions.
class JointAsking {
 public:
  HWY_INLINE JointAsking(const JointCall& call, int64_t n)
      : step_(HWY_MAX(call.ahead[0].step, HWY_MAX(call.ahead[1].step, call.ahead[2].step))),
        near_(call.rows * call.vectors <= kMostNearVectors) {
    for (int i = 0; i < 3; ++i) from_[i] = call.ahead[i].Of(n, call.distance, call.planes);
  }

  template <bool kWrites>
  HWY_INLINE void Ask() {
    if (kWrites || near_) {
      AskNear(from_[0] + at_);
      AskNear(from_[1] + at_);
    } else {
      kernels::Ask(from_[0] + at_);
      kernels::Ask(from_[1] + at_);
    }
    if constexpr (kWrites) AskToWrite(from_[2] + at_);
    at_ += step_;
  }

 private:
  static constexpr int64_t kMostNearVectors = 128;

  const int64_t step_;
  const bool near_;
  const char* from_[3];
  int64_t at_ = 0;
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_ROLLING_ROWS_INL_H_
