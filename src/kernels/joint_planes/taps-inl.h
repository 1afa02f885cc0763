// SPDX-License-Identifier: Apache-2.0
// Compiled once per target: the weights and sums of a few taps in registers, and their products.
#if defined(CANOPY_KERNELS_JOINT_PLANES_TAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_TAPS_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_TAPS_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_TAPS_INL_H_
#endif

#include <hwy/highway.h>

#include <atomic>
#include <type_traits>
#include <utility>

#include "kernels/ask.h"
#include "kernels/convert/convert-inl.h"
#include "kernels/joint_planes/contract.h"

// Of lambdas: compiled for the target, and never a function of their own.
#undef CANOPY_JOINT_LAMBDA
#define CANOPY_JOINT_LAMBDA HWY_ATTR __attribute__((always_inline))

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace cv = convert::HWY_NAMESPACE;
using convert::Form;

using JointTag = hn::CappedTag<float, 16>;
using JointVec = hn::Vec<JointTag>;
inline constexpr int64_t kJointLanes = static_cast<int64_t>(hn::MaxLanes(JointTag()));

inline constexpr bool kJointScalar = HWY_TARGET == HWY_SCALAR;

// Whether vectors may be read and written in part: one number has no parts.
inline constexpr bool kJointTails = !kJointScalar;

// Whether planes without such vectors have kernels of their own: moved by halves, parts take a twentieth of the time
// also where there are none. Older instruction sets are not worth their size.
inline constexpr bool kJointTailsApart = HWY_TARGET == HWY_AVX2;

// GCC would load what has several products again for each.
HWY_INLINE JointVec JointOnce(JointVec loaded) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return loaded;
}

HWY_INLINE void JointAddTo(float* to, JointVec v) {
  const JointTag d;
  hn::StoreU(hn::Add(hn::LoadU(d, to), v), d, to);
}

// Asks for what is read: to the L2, which is up to a fourth faster from memory, but beside results, whose lines come to
// the L1, where that takes 2 to 6% longer (Zen 4).
template <bool kWrites>
HWY_INLINE void JointAsk(const void* at) {
  if constexpr (kWrites) AskNear(at);
  if constexpr (!kWrites) Ask(at);
}

// Of numbers for conversions, where registers are `full`.
constexpr cv::Held JointHeld(bool full) { return full ? cv::Held::kNone : cv::Held::kAll; }

template <Form kForm>
inline constexpr bool kJointHalf = sizeof(cv::FormElement<kForm>) == 2;

// A vector of a tensor, or of its last one `count` elements, zeros behind. `Last` is a constant. Where registers are
// kFull, conversions keep no numbers there.
template <Form kForm, bool kFull, class Last>
HWY_INLINE JointVec JointLoad(Last last, const cv::FormElement<kForm>* from, int64_t count) {
  const JointTag d;
  JointVec loaded;
  if constexpr (last) {
    loaded = cv::LoadVecN<TypeOf(kForm)>(d, from, static_cast<size_t>(count));
  } else {
    loaded = cv::LoadVec<TypeOf(kForm)>(d, from);
  }
  return cv::RoundVec<RoundingOf(kForm), false, JointHeld(kFull)>(d, JointOnce(loaded));
}

template <Form kForm, bool kFull, class Last>
HWY_INLINE void JointStore(Last last, JointVec v, cv::FormElement<kForm>* to, int64_t count) {
  const cv::ElementTag<TypeOf(kForm), JointTag> d;
  const auto elements = cv::ToElements<TypeOf(kForm), false, JointHeld(kFull)>(JointTag(), v);
  if constexpr (last) {
    cv::StoreFirst(elements, d, to, static_cast<size_t>(count));
  } else {
    hn::StoreU(elements, d, to);
  }
}

// Sums of few terms would wait for one another: each is kept several times then.
constexpr int JointSumsAtOnce(int terms, int at_once) { return HWY_MIN(at_once, terms >= 4 ? 1 : terms >= 2 ? 2 : 4); }

// Registers for a vector of g, what the compiler keeps there, and what conversions take: more of results where there
// are none for masks.
constexpr int JointSpare(Form form, bool data) {
  if (form == Form::kFloat32) return 3;
  return CANOPY_VECTOR_REGISTERS >= 32 ? 6 : data ? 7 : 5;
}

constexpr bool JointFits(int rows, int columns, int at_once, bool data, bool weights, int spare) {
  const int terms = rows * columns, sums = terms * JointSumsAtOnce(terms, at_once);
  return (data ? terms + at_once : 0) + (weights ? sums + at_once : 0) + spare <= CANOPY_VECTOR_REGISTERS;
}

// Rows at once: a vector of g serves as many of them as kernel rows. As many as the registers hold.
constexpr int JointRowsAtOnce(int rows, int columns, bool data, bool weights, int spare) {
  if (rows == 1 && columns >= 4) return 1;
  int at_once = 4;
  while (at_once > 1 && !JointFits(rows, columns, at_once, data, weights, spare)) at_once /= 2;
  return at_once;
}

// Whether lanes move from vector to vector in an instruction.
inline constexpr bool kJointShifts = HWY_TARGET <= HWY_AVX3;

// The vector that begins kBack lanes before `here`, which follows `before`.
template <int kBack>
HWY_INLINE JointVec JointShifted(JointVec here, [[maybe_unused]] JointVec before) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kBack > 0) {
    const __m512i first = _mm512_castps_si512(before.raw), second = _mm512_castps_si512(here.raw);
    here.raw = _mm512_castsi512_ps(_mm512_alignr_epi32(second, first, 16 - kBack));
  }
#endif
  return here;
}

// Calls f(0), f(1) ... with constants. GCC keeps arrays in registers where no index of theirs is ever a variable; what
// it makes of loops that are to be unrolled is a matter of luck.
template <class F, int... kIndex>
HWY_INLINE void JointEach(const F& f, std::integer_sequence<int, kIndex...>) {
  (f(std::integral_constant<int, kIndex>()), ...);
}
template <int kCount, class F>
HWY_INLINE void JointEach(const F& f) {
  JointEach(f, std::make_integer_sequence<int, kCount>());
}

// The weights and sums of kRows * kColumns taps, in registers throughout.
template <Form kForm, int kRows, int kColumns, bool kData, bool kWeights>
class JointTaps {
 public:
  static constexpr int kTaps = kRows * kColumns;
  static constexpr int kAtOnce = JointRowsAtOnce(kRows, kColumns, kData, kWeights, JointSpare(kForm, kData));
  // Of three and more columns it is less work to move lanes than to load them: most would come from two lines.
  static constexpr bool kShifts = kJointShifts && kColumns >= kFewestShiftedColumns;
  static constexpr int kSums = kWeights ? JointSumsAtOnce(kTaps, kAtOnce) : 1;

  HWY_INLINE JointTaps(const JointCall& call, int64_t plane) {
    const JointTag d;
    [[maybe_unused]] const float* taps = call.taps + plane * call.taps_plane;
    JointEach<kTaps>([&](auto t) CANOPY_JOINT_LAMBDA {
      if constexpr (kData) tap_[t] = hn::Set(d, taps[t / kColumns * call.taps_row + t % kColumns * call.taps_column]);
    });
    JointEach<kSums * kTaps>([&](auto i) CANOPY_JOINT_LAMBDA { sum_[i] = hn::Zero(d); });
  }

  // The terms of one vector in each of kCount rows, of which `g` points to the first's.
  template <int kCount>
  HWY_INLINE void Add(const float* g, int64_t g_row, const JointVec (&x)[kCount], JointVec (&result)[kCount]) {
    const JointTag d;
    if constexpr (kShifts) {
      JointVec here, before;
      const auto load = [&](auto row, auto column) CANOPY_JOINT_LAMBDA {
        if constexpr (column == 0) {
          here = JointOnce(hn::LoadU(d, g + row * g_row));
          before = JointOnce(hn::LoadU(d, g + row * g_row - kJointLanes));
        }
        return JointShifted<column>(here, before);
      };
      Add<kCount, 1 - kRows, kCount>(load, x, result);
    } else {
      const auto load = [&](auto row, auto column)
                            CANOPY_JOINT_LAMBDA { return JointOnce(hn::LoadU(d, g + row * g_row - column)); };
      Add<kCount, 1 - kRows, kCount>(load, x, result);
    }
  }

  // Likewise, of rows of g from kFirst to kEnd only, whose vectors `load` gives, by row and kernel column.
  template <int kCount, int kFirst, int kEnd, class Load>
  HWY_INLINE void Add(const Load& load, const JointVec (&x)[kCount], JointVec (&result)[kCount]) {
    JointEach<(kEnd - kFirst) * kColumns>([&](auto i) CANOPY_JOINT_LAMBDA {
      constexpr int kRow = i / kColumns + kFirst, kColumn = i % kColumns;
      const JointVec gradient = load(std::integral_constant<int, kRow>(), std::integral_constant<int, kColumn>());
      JointEach<kCount>([&](auto y) CANOPY_JOINT_LAMBDA {
        if constexpr (y >= kRow && y < kRow + kRows) {
          Multiply<(y - kRow) * kColumns + kColumn, y % kSums>(gradient, x[y], &result[y]);
        }
      });
    });
  }

  // The terms of one vector of even columns and one of odd ones. Those of one parity meet the first and the last of
  // three kernel columns, under neighbouring positions of g, the others the middle one: kEven says which.
  template <bool kEven>
  HWY_INLINE void AddPair(const float* g, int64_t g_row, const JointVec (&x)[2], JointVec (&result)[2]) {
    constexpr int kTwo = kEven ? 0 : 1, kOne = 1 - kTwo;
    JointEach<2 * kRows>([&](auto i) CANOPY_JOINT_LAMBDA {
      constexpr int kRow = i / 2, kColumn = i % 2;
      const JointVec gradient = JointOnce(hn::LoadU(JointTag(), g - kRow * g_row - kColumn));
      Multiply<kRow * kColumns + 2 * kColumn, 0>(gradient, x[kTwo], &result[kTwo]);
      if constexpr (kColumn == kTwo) Multiply<kRow * kColumns + 1, 0>(gradient, x[kOne], &result[kOne]);
    });
  }

  HWY_INLINE void StoreSums(const JointCall& call, int64_t plane) {
    float* sums = call.sums + plane * call.sums_plane;
    JointEach<(kSums - 1) * kTaps>(
        [&](auto i) CANOPY_JOINT_LAMBDA { sum_[i % kTaps] = hn::Add(sum_[i % kTaps], sum_[kTaps + i]); });
    JointEach<kTaps>([&](auto t) CANOPY_JOINT_LAMBDA {
      JointAddTo(sums + t / kColumns * call.sums_row + t % kColumns * call.sums_column, sum_[t]);
    });
  }

 private:
  template <int kTap, int kSum>
  HWY_INLINE void Multiply(JointVec gradient, JointVec x, JointVec* result) {
    if constexpr (kData) *result = hn::MulAdd(tap_[kTap], gradient, *result);
    if constexpr (kWeights) sum_[kSum * kTaps + kTap] = hn::MulAdd(x, gradient, sum_[kSum * kTaps + kTap]);
  }

  JointVec tap_[kTaps];
  JointVec sum_[kSums * kTaps];
};

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_TAPS_INL_H_
