// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: kernels of small planes, two rows of which are one vector. A plane's rows of g are moved by
// a column once for each kernel column, and by a row once for all odd ones.
#if defined(CANOPY_KERNELS_JOINT_PLANES_FOLDED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_FOLDED_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_FOLDED_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_FOLDED_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/ask.h"
#include "kernels/joint_planes/contract.h"
#include "kernels/joint_planes/seen-inl.h"
#include "kernels/joint_planes/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3

inline constexpr int kJointFolds = kMostFoldedRows / 2;  // vectors of a plane
inline constexpr int kJointHalfLanes = kMostFoldedColumns;
static_assert(2 * kJointHalfLanes == kJointLanes);

// The rows of a plane two by two: an even one is a vector's lower half, the one behind its upper half. All but the very
// last exist.
template <Form kForm>
class JointFold {
 public:
  using Element = cv::FormElement<kForm>;

  HWY_INLINE explicit JointFold(const JointCall& call) : row_(call.g.row / static_cast<int64_t>(sizeof(Element))) {
    low_ = JointLanes(kElements, 0, call.last_lanes);
    high_ = JointLanes(kElements, kJointHalfLanes, kJointHalfLanes + call.last_lanes);
    last_ = call.rows == kMostFoldedRows ? high_ : JointLanes(kElements, 0, 0);
  }

  template <int kFold>
  HWY_INLINE JointVec Load(const Element* plane) const {
    const auto low = hn::MaskedLoad(low_, kElements, plane + 2 * kFold * row_);
    const auto high = hn::MaskedLoad(High(kFold), kElements, plane + (2 * kFold + 1) * row_ - kJointHalfLanes);
    return JointOnce(cv::FromElements<TypeOf(kForm)>(JointTag(), hn::Or(low, high)));
  }
  template <int kFold>
  HWY_INLINE void Store(JointVec v, Element* plane) const {
    const auto elements = cv::ToElements<TypeOf(kForm), false, cv::Held::kNone>(JointTag(), v);
    hn::BlendedStore(elements, low_, kElements, plane + 2 * kFold * row_);
    hn::BlendedStore(elements, High(kFold), kElements, plane + (2 * kFold + 1) * row_ - kJointHalfLanes);
  }

 private:
  static constexpr cv::ElementTag<TypeOf(kForm), JointTag> kElements{};
  using Mask = hn::Mask<cv::ElementTag<TypeOf(kForm), JointTag>>;

  HWY_INLINE Mask High(int fold) const { return fold + 1 < kJointFolds ? high_ : last_; }

  const int64_t row_;
  Mask low_, high_, last_;
};

// In each half, what stands kColumns to the right of each lane, or to the left where that is negative; zero where the
// half has no such lane.
template <int kColumns>
HWY_INLINE JointVec JointMovedColumns(JointVec v) {
  if constexpr (kColumns != 0) {
    constexpr unsigned kHalf = kColumns > 0 ? 0xFFu >> kColumns : 0xFFu & (0xFFu << -kColumns);
    const __m512i lanes = _mm512_castps_si512(v.raw);
    v.raw = _mm512_castsi512_ps(
        _mm512_maskz_alignr_epi32(static_cast<__mmask16>(kHalf * 0x101), lanes, lanes, kColumns & 15));
  }
  return v;
}

// The last row of one vector and the first of the next, of which kFirst, or kLast, does not exist.
template <bool kFirst, bool kLast>
HWY_INLINE JointVec JointMovedRow(JointVec before, JointVec behind) {
  constexpr auto kSeen = static_cast<__mmask16>((kFirst ? 0 : 0xFF) | (kLast ? 0 : 0xFF00));
  const __m512i first = _mm512_castps_si512(before.raw), second = _mm512_castps_si512(behind.raw);
  JointVec moved;
  moved.raw = _mm512_castsi512_ps(kFirst || kLast ? _mm512_maskz_alignr_epi32(kSeen, second, first, kJointHalfLanes)
                                                  : _mm512_alignr_epi32(second, first, kJointHalfLanes));
  return moved;
}

template <Form kForm, int kSize, bool kData, bool kWeights, bool kAdds>
void JointFoldedPlanes(const JointCall& call) {
  using Element = cv::FormElement<kForm>;
  const JointTag d;
  constexpr int kCentre = kSize / 2;
  const JointFold<kForm> fold(call);
  const float* taps = call.taps;
  float* sums = call.sums;
  for (int64_t n = 0; n < call.planes; ++n, taps += call.taps_plane, sums += call.sums_plane) {
    const Element* g = reinterpret_cast<const Element*>(call.g.first + n * call.g.plane);
    const Element* x = reinterpret_cast<const Element*>(call.x.first + n * call.x.plane);
    Element* to = reinterpret_cast<Element*>(call.result.first + n * call.result.plane);
    JointEach<3>([&](auto i) CANOPY_JOINT_LAMBDA {
      const char* ahead = call.ahead[i].Of(n, call.distance, call.planes);
      JointEach<kJointFolds>([&](auto y) CANOPY_JOINT_LAMBDA {
        const char* at = ahead + 2 * y * call.ahead[i].step;
        if constexpr (i < 2) JointAsk<kData>(at);
        if constexpr (i == 2 && kData) AskToWrite(at);
      });
    });
    JointVec gradient[kJointFolds], source[kJointFolds], result[kJointFolds], bias = hn::Zero(d);
    JointEach<kJointFolds>([&](auto i) CANOPY_JOINT_LAMBDA {
      gradient[i] = fold.template Load<i>(g);
      bias = hn::Add(bias, gradient[i]);
      gradient[i] = cv::RoundVec<RoundingOf(kForm), false, cv::Held::kNone>(d, gradient[i]);
      if constexpr (kWeights)
        source[i] = cv::RoundVec<RoundingOf(kForm), false, cv::Held::kNone>(d, fold.template Load<i>(x));
      result[i] = kAdds ? fold.template Load<i>(to) : hn::Zero(d);
    });
    JointEach<kSize>([&](auto column) CANOPY_JOINT_LAMBDA {
      // Rows from even ones on, and from odd ones on.
      JointVec even[kJointFolds], odd[kJointFolds + 1];
      JointEach<kJointFolds>([&](auto i)
                                 CANOPY_JOINT_LAMBDA { even[i] = JointMovedColumns<kCentre - column>(gradient[i]); });
      odd[0] = JointMovedRow<true, false>(even[0], even[0]);
      JointEach<kJointFolds - 1>(
          [&](auto i) CANOPY_JOINT_LAMBDA { odd[i + 1] = JointMovedRow<false, false>(even[i], even[i + 1]); });
      odd[kJointFolds] = JointMovedRow<false, true>(even[kJointFolds - 1], even[kJointFolds - 1]);
      JointEach<kSize>([&](auto row) CANOPY_JOINT_LAMBDA {
        constexpr int kTap = row * kSize + column;
        constexpr int kBehind = kCentre - row;  // so many rows behind its own a position meets
        constexpr bool kOdd = kBehind % 2 != 0;
        const JointVec tap = hn::Set(d, taps[kTap]);
        JointVec sum = hn::Zero(d);
        JointEach<kJointFolds>([&](auto i) CANOPY_JOINT_LAMBDA {
          constexpr int kMet = i + (kBehind + (kOdd ? 1 : 0)) / 2;
          if constexpr (kMet >= 0 && kMet < kJointFolds + (kOdd ? 1 : 0)) {
            const JointVec met = kOdd ? odd[kMet] : even[kOdd ? 0 : kMet];
            if constexpr (kData) result[i] = hn::MulAdd(tap, met, result[i]);
            if constexpr (kWeights) sum = hn::MulAdd(source[i], met, sum);
          }
        });
        if constexpr (kWeights) JointAddTo(sums + kTap * kJointLanes, sum);
      });
    });
    if constexpr (kData) {
      JointEach<kJointFolds>([&](auto i) CANOPY_JOINT_LAMBDA { fold.template Store<i>(result[i], to); });
    }
    if (call.bias != nullptr) call.bias[n] += hn::GetLane(hn::SumOfLanes(d, bias));
  }
}

template <Form kForm, int kSize, bool kData, bool kWeights>
void JointFolded(const JointCall& call) {
  if constexpr (kData && !kJointHalf<kForm>) {
    if (call.adds) return JointFoldedPlanes<kForm, kSize, kData, kWeights, true>(call);
  }
  JointFoldedPlanes<kForm, kSize, kData, kWeights, false>(call);
}

template <Form kForm, int kSize = 3>
void FillJointFolded(JointKernels* kernels) {
  kernels->folded[kJointBoth][kSize] = &JointFolded<kForm, kSize, true, true>;
  kernels->folded[kJointData][kSize] = &JointFolded<kForm, kSize, true, false>;
  kernels->folded[kJointWeights][kSize] = &JointFolded<kForm, kSize, false, true>;
  if constexpr (kSize < kMostJointRows) FillJointFolded<kForm, kSize + 2>(kernels);
}

#else

template <Form kForm>
void FillJointFolded(JointKernels*) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_FOLDED_INL_H_
