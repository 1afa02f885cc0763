// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: kernels of three rows and three columns that read the output's gradient without zeros
// around it.
#if defined(CANOPY_KERNELS_JOINT_PLANES_EDGED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_EDGED_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_EDGED_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_EDGED_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "kernels/ask.h"
#include "kernels/joint_planes/contract.h"
#include "kernels/joint_planes/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if !HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_SCALAR

// Lanes of a vector of elements under which a kernel column meets what exists. Rows have four kinds of vectors: those
// between, the first, the last, and the only one.
template <class D>
class JointEdges {
 public:
  HWY_INLINE explicit JointEdges(size_t last_lanes) {
    const D d;
    for (size_t kind = 0; kind < 4; ++kind) {
      for (size_t s = 0; s < 3; ++s) {
        const auto behind = hn::FirstN(d, kind >= 2 ? last_lanes + s - 1 : hn::Lanes(d));
        seen_[kind][s] = kind % 2 == 1 && s == 2 ? hn::AndNot(hn::FirstN(d, 1), behind) : behind;
      }
    }
  }
  using Seen = hn::Mask<D>[3];
  HWY_INLINE const Seen& At(bool first, bool last) const { return seen_[(first ? 1 : 0) + (last ? 2 : 0)]; }

 private:
  Seen seen_[4];
};

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
  hn::BlendedStore(cv::ToElements<TypeOf(kForm), false, kFull>(JointTag(), v), seen, d, to);
}

// Results that are complete, whole lines, past the caches.
HWY_INLINE void JointStreamLines(const float* HWY_RESTRICT complete, int64_t count, float* HWY_RESTRICT to) {
  const JointTag d;
  for (int64_t i = 0; i < count; i += kJointLanes) hn::Stream(hn::Load(d, complete + i), d, to + i);
}

// Whether there are kernels of rows of one vector, which get a row's neighbours from its own lanes.
inline constexpr bool kJointNarrow = HWY_TARGET <= HWY_AVX3;

// What stands next to each lane, on the right (1) or on the left (-1); zero where nothing does.
template <int kSide>
HWY_INLINE JointVec JointNeighbour(JointVec v) {
#if HWY_TARGET <= HWY_AVX3
  constexpr __mmask16 kHas = kSide > 0 ? 0x7FFF : 0xFFFE;
  const __m512i lanes = _mm512_castps_si512(v.raw);
  v.raw = _mm512_castsi512_ps(_mm512_maskz_alignr_epi32(kHas, lanes, lanes, kSide & 15));
#endif
  return v;
}

template <Form kForm, bool kData, bool kWeights, bool kAdds, bool kNarrow>
void JointEdgedRows(const JointCall& call) {
  constexpr bool kRounds = RoundingOf(kForm) != numerics::InputRounding::kNone, kFull = kData && kWeights;
  using Element = cv::FormElement<kForm>;
  using Edges = JointEdges<cv::ElementTag<TypeOf(kForm), JointTag>>;
  const JointTag d;
  constexpr int64_t kLineBytes = 64, kBytes = static_cast<int64_t>(sizeof(Element));
  const Edges edges(static_cast<size_t>(call.last_lanes));
  const int64_t g_row = call.g.row / kBytes, x_row = call.x.row / kBytes, to_row = call.result.row / kBytes;
  const int64_t vectors = kNarrow ? 1 : call.vectors;
  // Rows whose results are complete leave together, as whole lines.
  HWY_ALIGN float complete[kJointEdgedRows * kMostStreamedColumns];
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
      const bool streamed = kData && !kAdds && !kJointHalf<kForm> && kCount == kJointEdgedRows && call.streamed;
      Element* const written = streamed ? reinterpret_cast<Element*>(complete) : to;
      for (int64_t v = 0; v < vectors; ++v) {
        const typename Edges::Seen& seen = edges.At(kNarrow || v == 0, kNarrow || v + 1 == vectors);
        const int64_t i = v * kJointLanes;
        JointVec source[kCount], result[kCount];
        JointEach<kCount>([&](auto y) CANOPY_JOINT_LAMBDA {
          JointAsk<kData>(ahead0 + y * kLineBytes);
          JointAsk<kData>(ahead1 + y * kLineBytes);
          if constexpr (kData) AskToWrite(ahead2 + y * kLineBytes);
          source[y] = hn::Zero(d);
          result[y] = kAdds ? JointLoadSeen<kForm>(seen[1], to + y * to_row + i) : hn::Zero(d);
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
                  cv::RoundVec<RoundingOf(kForm), false, kData>(d, JointLoadSeen<kForm>(seen[1], x + y * x_row + i));
            }
          });
          constexpr bool kOwn = row >= -1 && row + 1 < kCount;  // the middle column's are the positions' own
          if constexpr (kNarrow) {
            if constexpr (column == 0) {
              centre = JointOnce(JointLoadSeen<kForm>(seen[1], g + (row + 1) * g_row));
              if constexpr (kOwn) bias = hn::Add(bias, centre);
              centre = cv::RoundVec<RoundingOf(kForm), false, kFull>(d, centre);
            }
            if constexpr (column == 1) return centre;
            return JointNeighbour<1 - column>(centre);
          }
          const JointVec gradient =
              JointOnce(JointLoadSeen<kForm>(seen[column], g + (row + 1) * g_row + i + 1 - column));
          if constexpr (!kRounds && column == 1 && kOwn) bias = hn::Add(bias, gradient);
          return gradient;
        };
        taps.template Add<kCount, kFirst, below ? kCount : kCount - 1>(load, source, result);
        if constexpr (kData) {
          JointEach<kCount>([&](auto y) CANOPY_JOINT_LAMBDA {
            JointStoreSeen<kForm, kWeights>(result[y], seen[1], written + y * to_row + i);
          });
        }
      }
      if constexpr (!kJointHalf<kForm>) {
        if (streamed) JointStreamLines(complete, kCount * to_row, to);
      }
      g += kCount * g_row;
      x += kCount * x_row;
      to += kCount * to_row;
    };
    constexpr std::integral_constant<int, kJointEdgedRows> kMany;
    constexpr std::true_type kYes;
    constexpr std::false_type kNo;
    int64_t left = call.rows;
    if (!call.above) {
      add_rows(kMany, kNo, kYes);
      left -= kMany;
    }
    for (; left > (call.below ? 0 : kMany.value); left -= kMany) add_rows(kMany, kYes, kYes);
    JointEach<kJointEdgedRows>([&](auto less) CANOPY_JOINT_LAMBDA {
      constexpr std::integral_constant<int, less + 1> kRest;
      if (!call.below && left == kRest) add_rows(kRest, kYes, kNo);
    });
    if constexpr (kWeights) taps.StoreSums(call, n);
    if ((kNarrow || !kRounds) && call.bias != nullptr) call.bias[n] += hn::GetLane(hn::SumOfLanes(d, bias));
  }
}

template <Form kForm, bool kData, bool kWeights, bool kNarrow>
void JointEdged(const JointCall& call) {
  if constexpr (kData && !kJointHalf<kForm>) {
    if (call.adds) return JointEdgedRows<kForm, kData, kWeights, true, kNarrow>(call);
  }
  JointEdgedRows<kForm, kData, kWeights, false, kNarrow>(call);
}

template <Form kForm>
void FillJointEdged(JointKernels* kernels) {
  if constexpr (JointRowsAtOnce(3, 3, JointSpare(Form::kFloat32)) == kJointEdgedRows) {
    kernels->edged[kJointBoth] = &JointEdged<kForm, true, true, false>;
    kernels->edged[kJointWeights] = &JointEdged<kForm, false, true, false>;
    if constexpr (RoundingOf(kForm) == numerics::InputRounding::kNone) {
      kernels->edged[kJointData] = &JointEdged<kForm, true, false, false>;
    }
  }
  if constexpr (kJointNarrow) {
    kernels->narrow[kJointBoth] = &JointEdged<kForm, true, true, true>;
    kernels->narrow[kJointData] = &JointEdged<kForm, true, false, true>;
    kernels->narrow[kJointWeights] = &JointEdged<kForm, false, true, true>;
  }
}

#else

template <Form kForm>
void FillJointEdged(JointKernels*) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_EDGED_INL_H_
