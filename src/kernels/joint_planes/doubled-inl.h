// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: kernels of three rows and three columns with a stride of 2 for both, that read the output's
// gradient without zeros around it. Columns of the input are not parted into even and odd ones. Instead each number of
// the output's gradient is doubled, which moves fewer lanes: columns of both parities meet their own number, those of
// one parity the number beside it, too.
#if defined(CANOPY_KERNELS_JOINT_PLANES_DOUBLED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_DOUBLED_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_DOUBLED_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_DOUBLED_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/joint_planes/contract.h"
#include "kernels/joint_planes/edged-inl.h"
#include "kernels/joint_planes/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if !HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_SCALAR

// Numbers of a row of g, and those beside them, for two vectors of columns.
struct JointDoubled {
  JointVec own[2], beside[2];
};

class JointDoubler {
 public:
  // Where even columns meet two numbers, or else odd ones.
  HWY_INLINE explicit JointDoubler(bool even) {
    const JointTag d;
    HWY_ALIGN int32_t twice[2 * kJointLanes];
    for (int i = 0; i < 2 * kJointLanes; ++i) twice[i] = i / 2;
    low_ = hn::SetTableIndices(d, twice);
    high_ = hn::SetTableIndices(d, twice + kJointLanes);
    const JointVec one = hn::Set(d, 1.0f), zero = hn::Zero(d);
    two_ = hn::Gt(even ? hn::OddEven(zero, one) : hn::OddEven(one, zero), zero);
  }

  HWY_INLINE JointDoubled Double(JointVec own, JointVec beside) const {
    return {{hn::TableLookupLanes(own, low_), hn::TableLookupLanes(own, high_)},
            {Two(beside, low_), Two(beside, high_)}};
  }

  // Lanes of columns that meet two numbers.
  const hn::Mask<JointTag>& two() const { return two_; }

 private:
  using Lanes = decltype(hn::SetTableIndices(JointTag(), static_cast<const int32_t*>(nullptr)));

  // Zeros where a column meets its own number only: what is beside that may be infinite.
  HWY_INLINE JointVec Two(JointVec beside, const Lanes& lanes) const {
#if HWY_TARGET <= HWY_AVX3
    beside.raw = _mm512_maskz_permutexvar_ps(two_.raw, lanes.raw, beside.raw);
    return beside;
#else
    return hn::IfThenElseZero(two_, hn::TableLookupLanes(beside, lanes));
#endif
  }

  Lanes low_, high_;
  hn::Mask<JointTag> two_;
};

// The weights of three kernel rows, and their sums: of the row that meets every other input row, and of the two that
// meet those between, under the row of g above and below.
enum JointKernelRow { kJointMiddleRow, kJointAboveRow, kJointBelowRow };

template <bool kData, bool kWeights>
class JointDoubledTaps {
 public:
  HWY_INLINE JointDoubledTaps(const JointCall& call, int64_t plane) {
    const JointTag d;
    const float* taps = call.taps + plane * call.taps_plane;
    const bool even = call.even_columns;
    JointEach<3>([&](auto row) CANOPY_JOINT_LAMBDA {
      own_sum_[row] = beside_sum_[row] = hn::Zero(d);
      if constexpr (kData) {
        const float* line = taps + kKernelRows[row] * call.taps_row;
        const auto tap = [&](int column) CANOPY_JOINT_LAMBDA { return hn::Set(d, line[column * call.taps_column]); };
        own_[row] = hn::OddEven(tap(even ? 1 : 2), tap(even ? 0 : 1));
        beside_[row] = tap(even ? 2 : 0);
      }
    });
  }

  template <int kRow>
  HWY_INLINE void Add(const JointDoubled& g, const JointVec (&x)[2], JointVec (&result)[2]) {
    JointEach<2>([&](auto half) CANOPY_JOINT_LAMBDA {
      if constexpr (kData) {
        result[half] = hn::MulAdd(own_[kRow], g.own[half], result[half]);
        result[half] = hn::MulAdd(beside_[kRow], g.beside[half], result[half]);
      }
      if constexpr (kWeights) {
        own_sum_[kRow] = hn::MulAdd(x[half], g.own[half], own_sum_[kRow]);
        beside_sum_[kRow] = hn::MulAdd(x[half], g.beside[half], beside_sum_[kRow]);
      }
    });
  }

  HWY_INLINE void StoreSums(const JointCall& call, int64_t plane, const hn::Mask<JointTag>& two) {
    const int first = call.even_columns ? 0 : 2;
    float* sums = call.sums + plane * call.sums_plane;
    JointEach<3>([&](auto row) CANOPY_JOINT_LAMBDA {
      const auto add = [&](int column, JointVec sum) CANOPY_JOINT_LAMBDA {
        JointAddTo(sums + kKernelRows[row] * call.sums_row + column * call.sums_column, sum);
      };
      add(1, hn::IfThenZeroElse(two, own_sum_[row]));
      add(first, hn::IfThenElseZero(two, own_sum_[row]));
      add(2 - first, hn::IfThenElseZero(two, beside_sum_[row]));
    });
  }

 private:
  static constexpr int kKernelRows[3] = {1, 2, 0};

  JointVec own_[3], beside_[3], own_sum_[3], beside_sum_[3];
};

// What becomes of results.
enum JointWriting { kJointStored, kJointAdded, kJointStreamed };

template <Form kForm, bool kData, bool kWeights, JointWriting kResults>
void JointDoubledRows(const JointCall& call) {
  using Element = cv::FormElement<kForm>;
  constexpr bool kFull = kData && kWeights;
  const JointTag d;
  const cv::ElementTag<TypeOf(kForm), JointTag> elements;
  constexpr int64_t kLineBytes = 64, kBytes = static_cast<int64_t>(sizeof(Element));
  constexpr int kLines = static_cast<int>(HWY_MAX(4 * kJointLanes * kBytes / kLineBytes, 2));  // of two rows' vectors
  const bool wide = call.ahead[1].step > kLines / 2 * kLineBytes;
  const auto round = [&](JointVec v)
                         CANOPY_JOINT_LAMBDA { return cv::RoundVec<RoundingOf(kForm), false, kFull>(d, v); };
  const JointDoubler doubler(call.even_columns);
  const int64_t g_row = call.g.row / kBytes, x_row = call.x.row / kBytes, to_row = call.result.row / kBytes;
  const int64_t side = call.even_columns ? -1 : 1;
  // A row of g and the next meet two rows of x: one that meets the former only, and the one behind it.
  const int64_t first = call.even_rows ? -1 : 0, x_first = call.even_rows ? 1 : 0;
  const int64_t x_rows = HWY_MIN(2 * call.rows, call.x_rows);
  // Rows of g between those that are doubled anew: more would read memory out of its order.
  const int64_t strip = call.vectors == 1 ? call.rows + 1 : 16;
  for (int64_t n = 0; n < call.planes; ++n) {
    JointDoubledTaps<kData, kWeights> taps(call, n);
    JointVec bias = hn::Zero(d);
    const char *ahead0 = call.ahead[0].Of(n, call.distance, call.planes),
               *ahead1 = call.ahead[1].Of(n, call.distance, call.planes),
               *ahead2 = call.ahead[2].Of(n, call.distance, call.planes);
    // Some rows of one vector of positions.
    const auto add_rows = [&](int64_t v, int64_t begin, int64_t end) CANOPY_JOINT_LAMBDA {
      const int64_t i = v * kJointLanes, floats = v + 1 == call.vectors ? call.last_lanes : 2 * kJointLanes;
      const int64_t outputs = call.g_right - i;
      const auto own = JointLanes(elements, 0, outputs),
                 beside = JointLanes(elements, v == 0 ? -side : 0, outputs - side);
      const hn::Mask<decltype(elements)> columns[2] = {JointLanes(elements, 0, floats),
                                                       JointLanes(elements, 0, floats - kJointLanes)};
      const int64_t x_begin = 2 * begin + x_first;
      const Element* g = reinterpret_cast<const Element*>(call.g.first + n * call.g.plane) + begin * g_row + i;
      const Element* x = reinterpret_cast<const Element*>(call.x.first + n * call.x.plane) + x_begin * x_row + 2 * i;
      Element* to = reinterpret_cast<Element*>(call.result.first + n * call.result.plane) + x_begin * to_row + 2 * i;
      const auto load = [&](const Element* row, bool counts) CANOPY_JOINT_LAMBDA {
        const JointVec gradient = JointOnce(JointLoadSeen<kForm>(own, row));
        if (counts) bias = hn::Add(bias, gradient);
        return doubler.Double(round(gradient), round(JointOnce(JointLoadSeen<kForm>(beside, row + side))));
      };
      const auto add_row = [&](const Element* from, Element* result_at, auto add) CANOPY_JOINT_LAMBDA {
        JointVec source[2], result[2];
        JointEach<2>([&](auto half) CANOPY_JOINT_LAMBDA {
          constexpr int64_t kAt = half * kJointLanes;
          source[half] = result[half] = hn::Zero(d);
          if constexpr (kWeights) source[half] = round(JointOnce(JointLoadSeen<kForm>(columns[half], from + kAt)));
          if constexpr (kResults == kJointAdded) result[half] = JointLoadSeen<kForm>(columns[half], result_at + kAt);
        });
        add(source, result);
        JointEach<(kData ? 2 : 0)>([&](auto half) CANOPY_JOINT_LAMBDA {
          constexpr int64_t kAt = half * kJointLanes;
          if constexpr (kResults == kJointStreamed) {
            if (half * kJointLanes < floats) hn::Stream(result[half], d, result_at + kAt);
            return;
          }
          JointStoreSeen<kForm, false>(result[half], columns[half], result_at + kAt);
        });
      };
      const JointVec zero = hn::Zero(d);
      const JointDoubled none{{zero, zero}, {zero, zero}};
      JointDoubled above = begin >= call.g_top && begin < call.g_bottom ? load(g, begin == 0 && first == 0) : none;
      int64_t x_left = x_rows - x_begin;
      for (int64_t y = begin; y < end; ++y) {
        __builtin_prefetch(ahead0, 0, 3);
        const auto ask = [&](auto line) CANOPY_JOINT_LAMBDA {
          __builtin_prefetch(ahead1 + line * kLineBytes, 0, 3);
          if constexpr (kData) __builtin_prefetch(ahead2 + line * kLineBytes, 1, 3);
        };
        JointEach<kLines / 2>(ask);
        if (wide) JointEach<kLines / 2>([&](auto line) CANOPY_JOINT_LAMBDA { ask(kLines / 2 + line); });
        ahead0 += call.ahead[0].step;
        ahead1 += call.ahead[1].step;
        ahead2 += call.ahead[2].step;
        g += g_row;
        const JointDoubled below = y + 1 < call.g_bottom ? load(g, y + 1 < call.rows) : none;
        if (y >= 0 && x_left > 0) {
          add_row(x, to, [&](const JointVec(&source)[2], JointVec(&result)[2]) CANOPY_JOINT_LAMBDA {
            taps.template Add<kJointMiddleRow>(above, source, result);
          });
        }
        if (x_left > 1) {
          add_row(x + x_row, to + to_row, [&](const JointVec(&source)[2], JointVec(&result)[2]) CANOPY_JOINT_LAMBDA {
            taps.template Add<kJointAboveRow>(above, source, result);
            taps.template Add<kJointBelowRow>(below, source, result);
          });
        }
        above = below;
        x_left -= 2;
        x += 2 * x_row;
        to += 2 * to_row;
      }
    };
    for (int64_t y = first; y < call.rows; y += strip) {
      for (int64_t v = 0; v < call.vectors; ++v) add_rows(v, y, HWY_MIN(y + strip, call.rows));
    }
    if constexpr (kWeights) taps.StoreSums(call, n, doubler.two());
    if (call.bias != nullptr) call.bias[n] += hn::GetLane(hn::SumOfLanes(d, bias));
  }
}

template <Form kForm, bool kData, bool kWeights>
void JointDoubledPlanes(const JointCall& call) {
  if constexpr (kData && !kJointHalf<kForm>) {
    if (call.adds) return JointDoubledRows<kForm, kData, kWeights, kJointAdded>(call);
    if (call.streamed) return JointDoubledRows<kForm, kData, kWeights, kJointStreamed>(call);
  }
  JointDoubledRows<kForm, kData, kWeights, kJointStored>(call);
}

template <Form kForm>
void FillJointDoubled(JointKernels* kernels) {
  if constexpr (CANOPY_VECTOR_REGISTERS >= 32) {
    kernels->doubled[kJointBoth] = &JointDoubledPlanes<kForm, true, true>;
    kernels->doubled[kJointData] = &JointDoubledPlanes<kForm, true, false>;
    kernels->doubled[kJointWeights] = &JointDoubledPlanes<kForm, false, true>;
  }
}

#else

template <Form kForm>
void FillJointDoubled(JointKernels*) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_DOUBLED_INL_H_
