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

// ---- weights -------------------------------------------------------------------------------------------------------

// One or two vectors of each row of x and g as they are multiplied, in call.room: without edges that anybody would have
// to look for, and rounded once. Of g there is a vector before; of x zeros where rows of g meet none.
struct JointRoomRows {
  static constexpr int64_t kXRow = 2 * kJointLanes, kGRow = 3 * kJointLanes;
  int64_t rows, vectors;  // rows of g
  float* x;               // what row 0 of g meets first
  float* g;               // of its row 0, what position 0 meets first
};

template <Form kForm, int kVectors>
void JointFillRoom(const JointCall& call, int64_t n, int64_t v, int64_t begin, int64_t end, int64_t x_end,
                   const JointRoomRows& room) {
  using Element = cv::FormElement<kForm>;
  const JointTag d;
  constexpr int64_t kBytes = static_cast<int64_t>(sizeof(Element));
  const int64_t g_row = call.g.row / kBytes, x_row = call.x.row / kBytes;
  const auto round = [&](JointVec from, float* at)
                         CANOPY_JOINT_LAMBDA { hn::Store(cv::RoundVec<RoundingOf(kForm), false>(d, from), d, at); };
  const auto clear = [&](float* at) CANOPY_JOINT_LAMBDA {
    JointEach<kVectors>([&](auto i) CANOPY_JOINT_LAMBDA { hn::Store(hn::Zero(d), d, at + i * kJointLanes); });
  };
  const auto lanes = JointColumns<kForm>(call, v + kVectors - 1);
  const int64_t first = HWY_MAX(begin, 0), behind = HWY_MIN(x_end, call.rows);
  const Element* x =
      reinterpret_cast<const Element*>(call.x.first + n * call.x.plane + first * call.x.row) + v * kJointLanes;
  float* to = room.x;
  for (int64_t y = begin; y < first; ++y, to += JointRoomRows::kXRow) clear(to);
  for (int64_t y = first; y < behind; ++y, x += x_row, to += JointRoomRows::kXRow) {
    if constexpr (kVectors == 2) round(cv::LoadVec<TypeOf(kForm)>(d, x), to);
    constexpr int64_t kLast = (kVectors - 1) * kJointLanes;
    round(JointLoadSeen<kForm>(lanes, x + kLast), to + kLast);
  }
  for (int64_t y = HWY_MAX(first, behind); y < x_end; ++y, to += JointRoomRows::kXRow) clear(to);
  const JointRowOfG<kForm> row(call, v), last(call, v + 1);
  const Element* g =
      reinterpret_cast<const Element*>(call.g.first + n * call.g.plane + begin * call.g.row) + v * kJointLanes;
  to = room.g;
  for (int64_t y = begin; y < end; ++y, g += g_row, to += JointRoomRows::kGRow) {
    round(row.Before(g), to - kJointLanes);
    round(row.Here(g), to);
    if constexpr (kVectors == 2) round(last.Here(g + kJointLanes), to + kJointLanes);
  }
}

// Sums that registers hold beside what they are made of.
inline constexpr int kMostRollingSums = 25;

// The sums of kCount kernel columns from kFirst on. Those of the first ask for memory.
template <int kSize, int kFirst, int kCount>
HWY_INLINE void JointRollWeights(const JointRoomRows& room, JointAsking* ahead, float* sums) {
  const JointTag d;
  JointVec sum[kSize * kCount];
  JointEach<kSize * kCount>([&](auto t) CANOPY_JOINT_LAMBDA { sum[t] = hn::Zero(d); });
  for (int64_t v = 0; v < room.vectors; ++v) {
    const float *x = room.x + v * kJointLanes, *g = room.g + v * kJointLanes - kFirst;
    for (int64_t y = 0; y < room.rows; ++y, x += JointRoomRows::kXRow, g += JointRoomRows::kGRow) {
      if constexpr (kFirst == 0) ahead->template Ask<false>();
      JointVec shift[kCount];
      JointEach<kCount>([&](auto s) CANOPY_JOINT_LAMBDA { shift[s] = JointOnce(hn::LoadU(d, g - s)); });
      JointEach<kSize>([&](auto r) CANOPY_JOINT_LAMBDA {
        const JointVec source = JointOnce(hn::Load(d, x + r * JointRoomRows::kXRow));
        JointEach<kCount>([&](auto s) CANOPY_JOINT_LAMBDA {
          sum[r * kCount + s] = hn::MulAdd(source, shift[s], sum[r * kCount + s]);
        });
      });
    }
  }
  JointEach<kSize * kCount>([&](auto t) CANOPY_JOINT_LAMBDA {
    JointAddTo(sums + (t / kCount * kSize + kFirst + t % kCount) * kJointLanes, sum[t]);
  });
}

// Where registers hold all sums and rows are multiplied as they stand, a row of g moved for each column is less work
// than a room.
template <Form kForm, int kSize>
void JointRollingWeightsInPlace(const JointCall& call) {
  using Element = cv::FormElement<kForm>;
  const JointTag d;
  constexpr int64_t kBytes = static_cast<int64_t>(sizeof(Element));
  const int64_t g_row = call.g.row / kBytes, x_row = call.x.row / kBytes;
  const int64_t begin = HWY_MAX(call.g_top, 1 - kSize), end = HWY_MIN(call.g_bottom, call.rows);
  for (int64_t n = 0; n < call.planes; ++n) {
    JointVec sum[kSize * kSize];
    JointEach<kSize * kSize>([&](auto t) CANOPY_JOINT_LAMBDA { sum[t] = hn::Zero(d); });
    JointAsking ahead(call, n);
    for (int64_t v = 0; v < call.vectors; ++v) {
      const auto lanes = JointColumns<kForm>(call, v);
      const JointRowOfG<kForm> row(call, v);
      const Element* g =
          reinterpret_cast<const Element*>(call.g.first + n * call.g.plane) + v * kJointLanes + begin * g_row;
      const Element* x = reinterpret_cast<const Element*>(call.x.first + n * call.x.plane) + v * kJointLanes;
      for (int64_t y = begin; y < end; ++y, g += g_row) {
        ahead.template Ask<false>();
        const JointVec here = row.Here(g), before = row.Before(g);
        JointVec shift[kSize];
        JointEach<kSize>([&](auto s) CANOPY_JOINT_LAMBDA { shift[s] = JointShifted<s>(here, before); });
        JointEach<kSize>([&](auto r) CANOPY_JOINT_LAMBDA {
          if (y + r < 0 || y + r >= call.rows) return;
          const JointVec source = JointOnce(JointLoadSeen<kForm>(lanes, x + (y + r) * x_row));
          JointEach<kSize>([&](auto s) CANOPY_JOINT_LAMBDA {
            sum[r * kSize + s] = hn::MulAdd(source, shift[s], sum[r * kSize + s]);
          });
        });
      }
    }
    float* sums = call.sums + n * call.sums_plane;
    JointEach<kSize * kSize>([&](auto t) CANOPY_JOINT_LAMBDA { JointAddTo(sums + t * kJointLanes, sum[t]); });
  }
}

template <Form kForm, int kSize>
void JointRollingWeights(const JointCall& call) {
  // Shares of the columns, of whose sums the registers hold no more at once.
  constexpr int kAtOnce = kMostRollingSums / kSize, kShares = (kSize + kAtOnce - 1) / kAtOnce;
  const int64_t begin = HWY_MAX(call.g_top, 1 - kSize), end = HWY_MIN(call.g_bottom, call.rows);
  float* const room_of_g = call.room + (call.rows + 2 * (kSize - 1)) * JointRoomRows::kXRow + kJointLanes;
  for (int64_t n = 0; n < call.planes; ++n) {
    JointAsking ahead(call, n);
    float* sums = call.sums + n * call.sums_plane;
    for (int64_t v = 0; v < call.vectors; v += 2) {
      const JointRoomRows room{end - begin, HWY_MIN(2, call.vectors - v), call.room, room_of_g};
      const auto fill = room.vectors == 2 ? &JointFillRoom<kForm, 2> : &JointFillRoom<kForm, 1>;
      fill(call, n, v, begin, end, end + kSize - 1, room);
      JointEach<kShares>([&](auto i) CANOPY_JOINT_LAMBDA {
        constexpr int kFirst = i * kSize / kShares, kEnd = (i + 1) * kSize / kShares;
        JointRollWeights<kSize, kFirst, kEnd - kFirst>(room, &ahead, sums);
      });
    }
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
