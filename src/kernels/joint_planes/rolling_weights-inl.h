// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: rolling kernels that give the weights of five or seven rows and columns alone.
#if defined(CANOPY_KERNELS_JOINT_PLANES_ROLLING_WEIGHTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_ROLLING_WEIGHTS_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_ROLLING_WEIGHTS_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_ROLLING_WEIGHTS_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/joint_planes/contract.h"
#include "kernels/joint_planes/rolling_rows-inl.h"
#include "kernels/joint_planes/seen-inl.h"
#include "kernels/joint_planes/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if !HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_SCALAR

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

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_ROLLING_WEIGHTS_INL_H_
