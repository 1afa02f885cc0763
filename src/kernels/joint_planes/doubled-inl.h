// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: kernels of three or five rows and as many columns with a stride of 2 for both, that read
// the output's gradient without zeros around it. Columns of the input are not parted into even and odd ones. Instead
// each number of the output's gradient is doubled, which moves fewer lanes: columns of one parity meet (size + 1) / 2
// of them side by side, those of the other all of these but one.
#if defined(CANOPY_KERNELS_JOINT_PLANES_DOUBLED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_DOUBLED_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_DOUBLED_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_DOUBLED_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/ask.h"
#include "kernels/joint_planes/contract.h"
#include "kernels/joint_planes/seen-inl.h"
#include "kernels/joint_planes/taps-inl.h"
#include "kernels/streams.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if !HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_SCALAR

// How many numbers of a row of g columns of one parity meet, and those of the other but for one.
constexpr int JointMet(int size) { return (size + 1) / 2; }

// A row of g under these, for one or two vectors of columns.
template <int kSize, int kHalves>
struct JointDoubled {
  JointVec met[kHalves][JointMet(kSize)];
};

// Of one vector of columns all come from one of g, of two not: there the numbers that they meet first, second and so on
// are a vector each.
template <int kSize, int kHalves>
class JointDoubler {
  static constexpr int kMet = JointMet(kSize);

 public:
  // Where even columns meet all numbers, or else odd ones.
  HWY_INLINE explicit JointDoubler(bool even) {
    const JointTag d;
    HWY_ALIGN int32_t lanes[kJointLanes];
    for (int t = 0; t < kTables; ++t) {
      const int first = kHalves == 1 ? kMet - 1 - t : t * static_cast<int>(kJointLanes) / 2;
      for (int i = 0; i < kJointLanes; ++i) lanes[i] = i / 2 + first;
      lanes_[t] = hn::SetTableIndices(d, lanes);
    }
    const JointVec one = hn::Set(d, 1.0f), zero = hn::Zero(d);
    first_ = hn::Gt(even ? one : hn::OddEven(one, zero), zero);
    last_ = hn::Gt(even ? hn::OddEven(zero, one) : one, zero);
  }

  // What a vector of columns meets as its k-th.
  template <int k, int kHalf>
  HWY_INLINE JointVec Double(JointVec numbers) const {
    const Lanes& lanes = lanes_[kHalves == 1 ? k : kHalf];
    if constexpr (k == 0) return Some(first_, numbers, lanes);
    if constexpr (k == kMet - 1) return Some(last_, numbers, lanes);
    return hn::TableLookupLanes(numbers, lanes);
  }

 private:
  using Lanes = decltype(hn::SetTableIndices(JointTag(), static_cast<const int32_t*>(nullptr)));

  // Zeros where a column does not meet it: it may be infinite.
  HWY_INLINE static JointVec Some(const hn::Mask<JointTag>& some, JointVec numbers, const Lanes& lanes) {
#if HWY_TARGET <= HWY_AVX3
    numbers.raw = _mm512_maskz_permutexvar_ps(some.raw, lanes.raw, numbers.raw);
    return numbers;
#else
    return hn::IfThenElseZero(some, hn::TableLookupLanes(numbers, lanes));
#endif
  }

  static constexpr int kTables = kHalves == 1 ? kMet : kHalves;

  Lanes lanes_[kTables];
  hn::Mask<JointTag> first_, last_;
};

// The weights of all kernel rows, and their sums: a vector has an even and an odd column's in turn.
// The first kInMemory weights are loaded each time: registers are short.
template <int kSize, bool kData, bool kWeights, int kInMemory>
class JointDoubledTaps {
  static constexpr int kMet = JointMet(kSize), kTaps = kSize * kMet;

 public:
  HWY_INLINE JointDoubledTaps(const JointCall& call, int64_t plane, float* memory) : memory_(memory) {
    const JointTag d;
    const float* taps = call.taps + plane * call.taps_plane;
    const int first = call.even_columns ? 0 : -1;
    JointEach<kTaps>([&](auto t) CANOPY_JOINT_LAMBDA {
      sum_[t] = hn::Zero(d);
      if constexpr (kData) {
        const float* line = taps + t / kMet * call.taps_row;
        const auto tap = [&](int column) CANOPY_JOINT_LAMBDA {
          return hn::Set(d, column >= 0 && column < kSize ? line[column * call.taps_column] : 0.0f);
        };
        tap_[t] = hn::OddEven(tap(first + 2 * (t % kMet) + 1), tap(first + 2 * (t % kMet)));
        if constexpr (t < kInMemory) hn::Store(tap_[t], d, memory_ + t * kJointLanes);
      }
    });
  }

  template <int kRow>
  HWY_INLINE void Add(const JointVec (&met)[kMet], JointVec x, JointVec* result) {
    JointEach<kMet>([&](auto i) CANOPY_JOINT_LAMBDA {
      constexpr int kTap = kRow * kMet + i;
      if constexpr (kData) *result = hn::MulAdd(Tap<kTap>(), met[i], *result);
      if constexpr (kWeights) sum_[kTap] = hn::MulAdd(x, met[i], sum_[kTap]);
    });
  }

  HWY_INLINE void StoreSums(const JointCall& call, int64_t plane) {
    const JointTag d;
    const auto even_columns = hn::Gt(hn::OddEven(hn::Zero(d), hn::Set(d, 1.0f)), hn::Zero(d));
    const int first = call.even_columns ? 0 : -1;
    float* sums = call.sums + plane * call.sums_plane;
    JointEach<kTaps>([&](auto t) CANOPY_JOINT_LAMBDA {
      const auto add = [&](int column, JointVec sum) CANOPY_JOINT_LAMBDA {
        if (column < 0 || column >= kSize) return;
        JointAddTo(sums + t / kMet * call.sums_row + column * call.sums_column, sum);
      };
      add(first + 2 * (t % kMet), hn::IfThenElseZero(even_columns, sum_[t]));
      add(first + 2 * (t % kMet) + 1, hn::IfThenZeroElse(even_columns, sum_[t]));
    });
  }

 private:
  template <int kTap>
  HWY_INLINE JointVec Tap() const {
    if constexpr (kTap >= kInMemory) return tap_[kTap];
    return hn::Load(JointTag(), cv::LoadedAnew(memory_ + kTap * kJointLanes));
  }

  JointVec tap_[kTaps], sum_[kTaps];
  float* memory_;
};

// What becomes of results.
enum JointWriting { kJointStored, kJointAdded, kJointStreamed };

template <Form kForm, int kSize, bool kData, bool kWeights, JointWriting kResults>
void JointDoubledRows(const JointCall& call) {
  using Element = cv::FormElement<kForm>;
  constexpr bool kFull = kSize > 3 || (kData && kWeights);
  constexpr int kMet = JointMet(kSize), kInMemory = kData && kJointHalf<kForm> && kSize > 3 ? kMet : 0;
  const JointTag d;
  const cv::ElementTag<TypeOf(kForm), JointTag> elements;
  constexpr int64_t kLineBytes = 64, kBytes = static_cast<int64_t>(sizeof(Element));
  const auto round = [&](JointVec v)
                         CANOPY_JOINT_LAMBDA { return cv::RoundVec<RoundingOf(kForm), false, JointHeld(kFull)>(d, v); };
  const int64_t g_row = call.g.row / kBytes, x_row = call.x.row / kBytes, to_row = call.result.row / kBytes;
  // Steps take two rows of x and load one of g. Of a plane padded by half the kernel none has one of x only: others are
  // a row late, and there is a step more.
  constexpr bool kEven = kSize / 2 % 2 == 0;
  const int64_t late = call.even_rows == kEven ? 0 : 1, first = -late, newest = kEven ? 0 : late;
  const int64_t x_rows = HWY_MIN(2 * call.rows, call.x_rows);
  const int64_t columns = 2 * (call.vectors - 1) * kJointLanes + call.last_lanes;
  constexpr int64_t kStrip = (kSize == 3 ? 2 : 1) * kJointLanes;  // columns that are taken at once, or fewer at the end
  int64_t step[3];
  for (int t = 0; t < 3; ++t) step[t] = call.ahead[t].step * call.vectors / ((columns + kStrip - 1) / kStrip);
  HWY_ALIGN static constexpr Element zeros[kMet - 1 + kJointLanes] = {};
  // Rows of g between those that are doubled anew: more would read memory out of its order.
  const int64_t height = columns <= 4 * kJointLanes ? call.rows + 1 : 32;
  HWY_ALIGN float in_memory[HWY_MAX(kInMemory * kJointLanes, 1)];
  JointResultRows<kForm, kData && kResults == kJointStored> results(call);
  for (int64_t n = 0; n < call.planes; ++n) {
    JointDoubledTaps<kSize, kData, kWeights, kInMemory> taps(call, n, in_memory);
    JointVec bias = hn::Zero(d);
    Element* const written = results.Of(n);
    // What is asked for before row 0 comes twice.
    const char* ahead[3];
    for (int t = 0; t < 3; ++t) ahead[t] = call.ahead[t].Of(n, call.distance, call.planes) + first * step[t];
    // Some rows of one or two vectors of columns, from twice position i on.
    const auto add_rows = [&](auto halves, int64_t i, int64_t begin, int64_t end) CANOPY_JOINT_LAMBDA {
      constexpr int kHalves = halves;
      constexpr int64_t kNumbers = kHalves * kJointLanes / 2;
      constexpr int kLines = static_cast<int>(HWY_MAX(2 * kHalves * kJointLanes * kBytes / kLineBytes, 2));
      using Doubled = JointDoubled<kSize, kHalves>;
      using Seen = hn::Mask<decltype(elements)>;
      const JointDoubler<kSize, kHalves> doubler(call.even_columns);
      constexpr int kLoads = kHalves == 1 ? 1 : kMet, kBack = kMet - kLoads;
      Seen seen[kLoads], exists[kHalves];
      JointEach<kLoads>([&](auto k) CANOPY_JOINT_LAMBDA {
        const int64_t at = k + kBack - i;
        seen[k] = JointLanes(elements, call.g_left + at, HWY_MIN(call.g_right + at, kNumbers + kBack));
      });
      JointEach<kHalves>([&](auto half) CANOPY_JOINT_LAMBDA {
        exists[half] = JointLanes(elements, 0, columns - 2 * i - half * kJointLanes);
      });
      // Lanes of the last vector that is loaded which belong to no positions but these.
      const hn::Mask<JointTag> counted = JointLanes(d, i == 0 ? 0 : kMet - 1, kLoads == 1 ? kJointLanes : kMet - 1);
      const Element* g =
          reinterpret_cast<const Element*>(call.g.first + n * call.g.plane) + (begin + newest) * g_row + i;
      const int64_t x_begin = 2 * begin + late;
      const Element* x = reinterpret_cast<const Element*>(call.x.first + n * call.x.plane) + x_begin * x_row + 2 * i;
      Element* to = written + x_begin * to_row + 2 * i;
      const auto load = [&](const Element* from, bool counts, Doubled* doubled) CANOPY_JOINT_LAMBDA {
        JointVec numbers;
        JointEach<kMet>([&](auto k) CANOPY_JOINT_LAMBDA {
          if constexpr (k < kLoads) {
            numbers = JointOnce(JointLoadSeen<kForm>(seen[k], from - k - kBack));
            if (counts) bias = k < kLoads - 1 ? hn::Add(bias, numbers) : JointAddSome(counted, bias, numbers);
            numbers = round(numbers);
          }
          JointEach<kHalves>([&](auto half) CANOPY_JOINT_LAMBDA {
            doubled->met[half][k] = doubler.template Double<k, half>(numbers);
          });
        });
      };
      const auto exists_row = [&](int64_t y) CANOPY_JOINT_LAMBDA { return y >= call.g_top && y < call.g_bottom; };
      // The last rows, in turn: row y under y modulo kMet, if `begin` were 0.
      Doubled rows[kMet];
      JointEach<kMet - 1>([&](auto r) CANOPY_JOINT_LAMBDA {
        const int64_t y = begin + newest - 1 - r;
        load(exists_row(y) ? g - (1 + r) * g_row : zeros + kMet - 1, begin == first && y >= call.g_counted,
             &rows[kMet - 1 - r]);
      });
      // The first or second row of x of a step, where row `turn` is the last. Of the kernel's rows it meets the even or
      // the odd ones.
      const auto add_row = [&](auto second, auto turn) CANOPY_JOINT_LAMBDA {
        constexpr int kParity = (second == 1) == kEven ? 1 : 0, kOldest = kParity == 1 && !kEven ? 1 : 0;
        constexpr int kTerms = kMet - kParity, kSums = kSize == 3 ? 1 : 2 - kParity;
        JointEach<kHalves>([&](auto half) CANOPY_JOINT_LAMBDA {
          constexpr int64_t kAt = half * kJointLanes;
          JointVec source = hn::Zero(d), result[kSums];
          JointEach<kSums>([&](auto r) CANOPY_JOINT_LAMBDA { result[r] = hn::Zero(d); });
          if constexpr (kWeights) source = round(JointOnce(JointLoadSeen<kForm>(exists[half], x + kAt)));
          if constexpr (kResults == kJointAdded) result[0] = JointLoadSeen<kForm>(exists[half], to + kAt);
          JointEach<kTerms>([&](auto r) CANOPY_JOINT_LAMBDA {
            constexpr int kRow = (turn + kMet - r - kOldest) % kMet;
            taps.template Add<2 * r + kParity>(rows[kRow].met[half], source, &result[r % kSums]);
          });
          if constexpr (!kData) return;
          JointEach<kSums - 1>([&](auto r) CANOPY_JOINT_LAMBDA { result[0] = hn::Add(result[0], result[r + 1]); });
          if constexpr (kResults == kJointStreamed) {
            if (2 * i + kAt < columns) hn::Stream(result[0], d, to + kAt);
            return;
          }
          JointStoreSeen<kForm, false>(result[0], exists[half], to + kAt);
        });
      };
      // Row y, and the two of x that it is the last to meet. `inside`: there are all three.
      const auto add_two = [&](auto inside, auto turn, int64_t y) CANOPY_JOINT_LAMBDA {
        JointAsk<kData>(ahead[0]);
        const auto ask = [&](auto line) CANOPY_JOINT_LAMBDA {
          JointAsk<kData>(ahead[1] + line * kLineBytes);
          if constexpr (kData) AskToWrite(ahead[2] + line * kLineBytes);
        };
        JointEach<kLines / 2>(ask);
        if (step[1] > kLines / 2 * kLineBytes) {
          JointEach<kLines / 2>([&](auto line) CANOPY_JOINT_LAMBDA { ask(kLines / 2 + line); });
        }
        for (int t = 0; t < 3; ++t) ahead[t] += step[t];
        const bool counts = inside || (y + newest >= call.g_counted && y + newest < call.rows);
        load(inside || exists_row(y + newest) ? g : zeros + kMet - 1, counts, &rows[turn]);
        g += g_row;
        JointEach<2>([&](auto second) CANOPY_JOINT_LAMBDA {
          const int64_t at = 2 * y + late + second;
          if (inside || (at >= 0 && at < x_rows)) add_row(second, turn);
          x += x_row;
          to += to_row;
        });
      };
      const int64_t inside = HWY_MAX(HWY_MAX(call.g_top, call.g_counted) - newest, 0);
      const int64_t outside = HWY_MIN(HWY_MIN(call.g_bottom, call.rows) - newest, HWY_MIN(end, (x_rows - late) / 2));
      for (int64_t y = begin; y < end;) {
        if (y >= inside && y + kMet <= outside) {
          JointEach<kMet>([&](auto turn) CANOPY_JOINT_LAMBDA { add_two(std::true_type(), turn, y + turn); });
          y += kMet;
          continue;
        }
        add_two(std::false_type(), std::integral_constant<int, 0>(), y++);
        const Doubled last = rows[0];
        JointEach<kMet - 1>([&](auto r) CANOPY_JOINT_LAMBDA { rows[r] = rows[r + 1]; });
        rows[kMet - 1] = last;
      }
    };
    for (int64_t y = first; y < call.rows; y += height) {
      const int64_t end = HWY_MIN(y + height, call.rows);
      for (int64_t at = 0; at < columns; at += kStrip) {
        if constexpr (kStrip > kJointLanes) {
          if (columns - at > kJointLanes) {
            add_rows(std::integral_constant<int, 2>(), at / 2, y, end);
            continue;
          }
        }
        add_rows(std::integral_constant<int, 1>(), at / 2, y, end);
      }
    }
    results.Leave(n, x_rows);
    if constexpr (kWeights) taps.StoreSums(call, n);
    if (call.bias != nullptr) call.bias[n] += hn::GetLane(hn::SumOfLanes(d, bias));
  }
}

template <Form kForm, int kSize, bool kData, bool kWeights>
void JointDoubledPlanes(const JointCall& call) {
  if constexpr (kData && !kJointHalf<kForm>) {
    if (call.adds) return JointDoubledRows<kForm, kSize, kData, kWeights, kJointAdded>(call);
    if (call.streamed && call.result.row % kMemoryLine == 0) {
      return JointDoubledRows<kForm, kSize, kData, kWeights, kJointStreamed>(call);
    }
  }
  JointDoubledRows<kForm, kSize, kData, kWeights, kJointStored>(call);
}

template <Form kForm, int kSize>
void FillJointDoubledSize(JointKernels* kernels) {
  if constexpr (kSize == 3) kernels->doubled[kJointBoth][kSize] = &JointDoubledPlanes<kForm, kSize, true, true>;
  kernels->doubled[kJointData][kSize] = &JointDoubledPlanes<kForm, kSize, true, false>;
  kernels->doubled[kJointWeights][kSize] = &JointDoubledPlanes<kForm, kSize, false, true>;
}

template <Form kForm>
void FillJointDoubled(JointKernels* kernels) {
  if constexpr (CANOPY_VECTOR_REGISTERS >= 32) {
    FillJointDoubledSize<kForm, 3>(kernels);
    FillJointDoubledSize<kForm, 5>(kernels);
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
