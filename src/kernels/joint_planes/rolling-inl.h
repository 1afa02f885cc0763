// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: kernels of one gradient that take each row of g once, for all rows that meet it. What moves
// lanes takes as long as what multiplies, and so rows of g are moved once for each column instead of once for each tap.
#if defined(CANOPY_KERNELS_JOINT_PLANES_ROLLING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_ROLLING_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_ROLLING_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_ROLLING_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/ask.h"
#include "kernels/joint_planes/contract.h"
#include "kernels/joint_planes/edged-inl.h"
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
    first_ = left > -kJointLanes;
  }

  // What position 0 meets first, and what is before that.
  HWY_INLINE JointVec Here(const Element* g) const { return JointOnce(JointLoadSeen<kForm>(here_, g)); }
  HWY_INLINE JointVec Before(const Element* g) const {
    return JointOnce(JointLoadSeen<kForm>(before_, g - kJointLanes));
  }
  // Whether that is no other vector's.
  bool first() const { return first_; }

 private:
  hn::Mask<cv::ElementTag<TypeOf(kForm), JointTag>> here_, before_;
  bool first_;
};

// Calls visit(shift, column) with what lanes meet under each kernel column.
template <int kColumns, class Visit>
HWY_INLINE void JointForShifts(JointVec here, JointVec before, const Visit& visit) {
  JointEach<kColumns>([&](auto column) CANOPY_JOINT_LAMBDA { visit(JointShifted<column>(here, before), column); });
}

// What is asked for meanwhile, some of it with each vector of a row.
class JointAsking {
 public:
  HWY_INLINE JointAsking(const JointCall& call, int64_t n) : call_(call) {
    for (int i = 0; i < 3; ++i) at_[i] = call.ahead[i].Of(n, call.distance, call.planes);
  }

  template <bool kWrites>
  HWY_INLINE void Ask() {
    JointAsk<kWrites>(at_[0]);
    JointAsk<kWrites>(at_[1]);
    if constexpr (kWrites) AskToWrite(at_[2]);
    for (int i = 0; i < 3; ++i) at_[i] += call_.ahead[i].step;
  }

 private:
  const JointCall& call_;
  const char* at_[3];
};

template <Form kForm, int kRows, int kColumns, bool kAdds>
void JointRollingData(const JointCall& call) {
  using Element = cv::FormElement<kForm>;
  const JointTag d;
  constexpr int64_t kBytes = static_cast<int64_t>(sizeof(Element));
  const int64_t g_row = call.g.row / kBytes, to_row = call.result.row / kBytes;
  for (int64_t n = 0; n < call.planes; ++n) {
    const float* taps = call.taps + n * call.taps_plane;
    // Of the first kernel row taps are loaded each time: registers are short.
    JointVec tap[(kRows - 1) * kColumns];
    JointEach<(kRows - 1) * kColumns>([&](auto t) CANOPY_JOINT_LAMBDA {
      tap[t] = hn::Set(d, taps[(t / kColumns + 1) * call.taps_row + t % kColumns * call.taps_column]);
    });
    JointVec bias = hn::Zero(d);
    JointAsking ahead(call, n);
    for (int64_t v = 0; v < call.vectors; ++v) {
      const auto lanes = JointColumns<kForm>(call, v);
      const JointRowOfG<kForm> row(call, v);
      const Element* g =
          reinterpret_cast<const Element*>(call.g.first + n * call.g.plane) + v * kJointLanes + (1 - kRows) * g_row;
      Element* to = reinterpret_cast<Element*>(call.result.first + n * call.result.plane) + v * kJointLanes;
      JointVec sum[kRows];  // of rows from the one that is next complete
      JointEach<kRows>([&](auto r) CANOPY_JOINT_LAMBDA { sum[r] = hn::Zero(d); });
      for (int64_t y = 1 - kRows; y < call.rows; ++y) {
        if (y >= call.g_top && y < call.g_bottom) {
          JointVec here = row.Here(g), before = row.Before(g);
          if (y >= call.g_counted) {
            bias = hn::Add(bias, here);
            if (row.first()) bias = hn::Add(bias, before);
          }
          here = cv::RoundVec<RoundingOf(kForm), false, true>(d, here);
          before = cv::RoundVec<RoundingOf(kForm), false, true>(d, before);
          JointForShifts<kColumns>(here, before, [&](JointVec shift, auto column) CANOPY_JOINT_LAMBDA {
            sum[0] = hn::MulAdd(hn::Set(d, taps[column * call.taps_column]), shift, sum[0]);
            JointEach<kRows - 1>([&](auto r) CANOPY_JOINT_LAMBDA {
              sum[r + 1] = hn::MulAdd(tap[r * kColumns + column], shift, sum[r + 1]);
            });
          });
        }
        if (y >= 0) {
          ahead.template Ask<true>();
          if constexpr (kAdds) sum[0] = hn::Add(sum[0], JointLoadSeen<kForm>(lanes, to));
          JointStoreSeen<kForm, true>(sum[0], lanes, to);
          to += to_row;
        }
        JointEach<kRows - 1>([&](auto r) CANOPY_JOINT_LAMBDA { sum[r] = sum[r + 1]; });
        sum[kRows - 1] = hn::Zero(d);
        g += g_row;
      }
    }
    if (call.bias != nullptr) call.bias[n] += hn::GetLane(hn::SumOfLanes(d, bias));
  }
}

// A vector's rows of x, and of g from `begin` to `end`, as they are multiplied. A function of its own, for sums leave
// it no registers.
template <Form kForm>
HWY_NOINLINE void JointRoundColumn(const JointCall& call, int64_t n, int64_t v, int64_t begin, int64_t end, float* to) {
  using Element = cv::FormElement<kForm>;
  const JointTag d;
  constexpr int64_t kBytes = static_cast<int64_t>(sizeof(Element));
  const auto lanes = JointColumns<kForm>(call, v);
  const JointRowOfG<kForm> row(call, v);
  const auto round = [&](JointVec from, float* at)
                         CANOPY_JOINT_LAMBDA { hn::Store(cv::RoundVec<RoundingOf(kForm), false>(d, from), d, at); };
  const Element* x = reinterpret_cast<const Element*>(call.x.first + n * call.x.plane) + v * kJointLanes;
  for (int64_t y = 0; y < call.rows; ++y, x += call.x.row / kBytes) {
    round(JointLoadSeen<kForm>(lanes, x), call.room + y * kJointLanes);
  }
  const Element* g =
      reinterpret_cast<const Element*>(call.g.first + n * call.g.plane + begin * call.g.row) + v * kJointLanes;
  for (int64_t y = begin; y < end; ++y, g += call.g.row / kBytes, to += 2 * kJointLanes) {
    round(row.Here(g), to);
    round(row.Before(g), to + kJointLanes);
  }
}

template <Form kForm, int kRows, int kColumns>
void JointRollingWeights(const JointCall& call) {
  using Element = cv::FormElement<kForm>;
  constexpr bool kRounds = RoundingOf(kForm) != numerics::InputRounding::kNone;
  const JointTag d;
  constexpr int64_t kBytes = static_cast<int64_t>(sizeof(Element));
  const int64_t g_row = call.g.row / kBytes, x_row = call.x.row / kBytes;
  const int64_t begin = HWY_MAX(call.g_top, 1 - kRows), end = HWY_MIN(call.g_bottom, call.rows);
  for (int64_t n = 0; n < call.planes; ++n) {
    JointVec sum[kRows * kColumns];
    JointEach<kRows * kColumns>([&](auto t) CANOPY_JOINT_LAMBDA { sum[t] = hn::Zero(d); });
    JointAsking ahead(call, n);
    for (int64_t v = 0; v < call.vectors; ++v) {
      const auto lanes = JointColumns<kForm>(call, v);
      const JointRowOfG<kForm> row(call, v);
      const Element* g =
          reinterpret_cast<const Element*>(call.g.first + n * call.g.plane) + v * kJointLanes + begin * g_row;
      const Element* x = reinterpret_cast<const Element*>(call.x.first + n * call.x.plane) + v * kJointLanes;
      float* const rounded = call.room + call.rows * kJointLanes;
      if constexpr (kRounds) JointRoundColumn<kForm>(call, n, v, begin, end, rounded);
      for (int64_t y = begin; y < end; ++y) {
        ahead.template Ask<false>();
        JointVec here, before, shifts[kColumns];
        if constexpr (kRounds) {
          here = JointOnce(hn::Load(d, rounded + 2 * (y - begin) * kJointLanes));
          before = JointOnce(hn::Load(d, rounded + (2 * (y - begin) + 1) * kJointLanes));
        } else {
          here = row.Here(g);
          before = row.Before(g);
        }
        JointForShifts<kColumns>(here, before, [&](JointVec shift, auto s) CANOPY_JOINT_LAMBDA { shifts[s] = shift; });
        JointEach<kRows>([&](auto r) CANOPY_JOINT_LAMBDA {
          if (y + r < 0 || y + r >= call.rows) return;
          JointVec source;
          if constexpr (kRounds) {
            source = JointOnce(hn::Load(d, call.room + (y + r) * kJointLanes));
          } else {
            source = JointOnce(JointLoadSeen<kForm>(lanes, x + (y + r) * x_row));
          }
          JointEach<kColumns>([&](auto s) CANOPY_JOINT_LAMBDA {
            sum[r * kColumns + s] = hn::MulAdd(source, shifts[s], sum[r * kColumns + s]);
          });
        });
        g += g_row;
      }
    }
    float* sums = call.sums + n * call.sums_plane;
    JointEach<kRows * kColumns>([&](auto t) CANOPY_JOINT_LAMBDA {
      JointAddTo(sums + t / kColumns * call.sums_row + t % kColumns * call.sums_column, sum[t]);
    });
  }
}

template <Form kForm, int kRows, int kColumns>
void JointRollingDataPlanes(const JointCall& call) {
  if constexpr (!kJointHalf<kForm>) {
    if (call.adds) return JointRollingData<kForm, kRows, kColumns, true>(call);
  }
  JointRollingData<kForm, kRows, kColumns, false>(call);
}

template <Form kForm>
void FillJointRolling(JointKernels* kernels) {
  if constexpr (CANOPY_VECTOR_REGISTERS >= 32 && kJointShifts) {
    kernels->rolling[kJointData][5][5] = &JointRollingDataPlanes<kForm, 5, 5>;
    kernels->rolling[kJointWeights][5][5] = &JointRollingWeights<kForm, 5, 5>;
    if constexpr (kForm == Form::kFloat32) {  // each pass would round or convert x anew
      kernels->rolling[kJointWeights][3][7] = &JointRollingWeights<kForm, 3, 7>;
      kernels->rolling[kJointWeights][2][7] = &JointRollingWeights<kForm, 2, 7>;
    }
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
