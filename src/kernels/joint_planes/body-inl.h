// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_JOINT_PLANES_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_JOINT_PLANES_BODY_INL_H_
#undef CANOPY_KERNELS_JOINT_PLANES_BODY_INL_H_
#else
#define CANOPY_KERNELS_JOINT_PLANES_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <atomic>
#include <type_traits>
#include <utility>

#include "kernels/joint_planes/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using JointTag = hn::CappedTag<float, 16>;
using JointVec = hn::Vec<JointTag>;
inline constexpr int64_t kJointLanes = static_cast<int64_t>(hn::MaxLanes(JointTag()));

// Whether vectors may be read and written in part, which costs calls of functions elsewhere.
#if HWY_MEM_OPS_MIGHT_FAULT
inline constexpr bool kJointTails = false;
#else
inline constexpr bool kJointTails = true;
#endif

// Sums of few terms would wait for one another: each is kept several times then.
constexpr int JointSumsAtOnce(int terms, int at_once) { return HWY_MIN(at_once, terms >= 4 ? 1 : terms >= 2 ? 2 : 4); }

// Rows at once: a vector of g serves as many of them as kernel rows. As many as the registers hold, of which three are
// for a vector of g and what the compiler keeps there.
constexpr int JointRowsAtOnce(int rows, int columns) {
  if (rows == 1 && columns >= 4) return 1;
  for (int at_once = 4; at_once > 1; at_once /= 2) {
    const int sums = rows * columns * JointSumsAtOnce(rows * columns, at_once);
    if (rows * columns + sums + 2 * at_once + 3 <= CANOPY_VECTOR_REGISTERS) return at_once;
  }
  return 1;
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
#define CANOPY_JOINT_LAMBDA HWY_ATTR __attribute__((always_inline))

// The weights and sums of kRows * kColumns taps, in registers throughout.
template <int kRows, int kColumns, bool kData, bool kWeights>
class JointTaps {
 public:
  static constexpr int kTaps = kRows * kColumns;
  static constexpr int kAtOnce = JointRowsAtOnce(kRows, kColumns);
  static constexpr int kSums = kWeights ? JointSumsAtOnce(kTaps, kAtOnce) : 1;

  HWY_INLINE explicit JointTaps(const JointCall& call) {
    const JointTag d;
    JointEach<kTaps>([&](auto t) CANOPY_JOINT_LAMBDA {
      if constexpr (kData)
        tap_[t] = hn::Set(d, call.taps[t / kColumns * call.taps_row + t % kColumns * call.taps_column]);
    });
    JointEach<kSums * kTaps>([&](auto i) CANOPY_JOINT_LAMBDA { sum_[i] = hn::Zero(d); });
  }

  // The terms of one vector in each of kCount rows, of which `g` points to the first's.
  template <int kCount>
  HWY_INLINE void Add(const float* g, int64_t g_row, const JointVec (&x)[kCount], JointVec (&result)[kCount]) {
    JointEach<(kCount + kRows - 1) * kColumns>([&](auto i) CANOPY_JOINT_LAMBDA {
      constexpr int kRow = i / kColumns + 1 - kRows, kColumn = i % kColumns;
      const JointVec gradient = hn::LoadU(JointTag(), g + kRow * g_row - kColumn);
      std::atomic_signal_fence(std::memory_order_seq_cst);  // or GCC loads it again for each product
      JointEach<kCount>([&](auto y) CANOPY_JOINT_LAMBDA {
        if constexpr (y >= kRow && y < kRow + kRows) {
          constexpr int kTap = (y - kRow) * kColumns + kColumn, kSum = y % kSums * kTaps + kTap;
          if constexpr (kData) result[y] = hn::MulAdd(tap_[kTap], gradient, result[y]);
          if constexpr (kWeights) sum_[kSum] = hn::MulAdd(x[y], gradient, sum_[kSum]);
        }
      });
    });
  }

  HWY_INLINE void StoreSums(const JointCall& call) {
    const JointTag d;
    JointEach<(kSums - 1) * kTaps>(
        [&](auto i) CANOPY_JOINT_LAMBDA { sum_[i % kTaps] = hn::Add(sum_[i % kTaps], sum_[kTaps + i]); });
    JointEach<kTaps>([&](auto t) CANOPY_JOINT_LAMBDA {
      float* to = call.sums + t / kColumns * call.sums_row + t % kColumns * call.sums_column;
      hn::StoreU(hn::Add(hn::LoadU(d, to), sum_[t]), d, to);
    });
  }

 private:
  JointVec tap_[kTaps];
  JointVec sum_[kSums * kTaps];
};

template <int kRows, int kColumns, bool kData, bool kWeights, bool kBefore>
void JointImages(const JointCall& call) {
  using Taps = JointTaps<kRows, kColumns, kData, kWeights>;
  constexpr int64_t kLineBytes = 64;
  const JointTag d;
  const int64_t last_lanes = kJointTails ? call.last_lanes : 0, g_row = call.g.row, x_row = call.x.row;
  const int64_t before_row = call.before.row, to_row = call.result.row;
  const int64_t whole = (call.vectors - (last_lanes > 0 ? 1 : 0)) * kJointLanes;
  const auto tail = hn::FirstN(d, static_cast<size_t>(last_lanes));
  Taps taps(call);
  for (int64_t n = 0; n < call.images; ++n) {
    const float *g = call.g.first + n * call.g.image, *x = call.x.first + n * call.x.image;
    const float* before = call.before.first + n * call.before.image;
    float* to = call.result.first + n * call.result.image;
    const char *ahead0 = call.ahead[0].from + n * call.ahead[0].image,
               *ahead1 = call.ahead[1].from + n * call.ahead[1].image,
               *ahead2 = call.ahead[2].from + n * call.ahead[2].image;
    // One vector of each of some rows, or what the last ones have.
    const auto add = [&](auto count, auto last, int64_t i) CANOPY_JOINT_LAMBDA {
      constexpr int kCount = count;
      JointVec source[kCount], result[kCount];
      JointEach<kCount>([&](auto y) CANOPY_JOINT_LAMBDA {
        __builtin_prefetch(ahead0 + y * kLineBytes, 0, 3);
        __builtin_prefetch(ahead1 + y * kLineBytes, 0, 3);
        if constexpr (kData) __builtin_prefetch(ahead2 + y * kLineBytes, 1, 3);
        const float* from = x + y * x_row + i;
        source[y] = !kWeights ? hn::Zero(d) : last ? hn::MaskedLoad(tail, d, from) : hn::LoadU(d, from);
        result[y] = kBefore ? hn::LoadU(d, before + y * before_row + i) : hn::Zero(d);
      });
      ahead0 += kCount * call.ahead[0].step;
      ahead1 += kCount * call.ahead[1].step;
      ahead2 += kCount * call.ahead[2].step;
      taps.template Add<kCount>(g + i, g_row, source, result);
      JointEach<(kData ? kCount : 0)>([&](auto y) CANOPY_JOINT_LAMBDA {
        float* at = to + y * to_row + i;
        last ? hn::BlendedStore(result[y], tail, d, at) : hn::StoreU(result[y], d, at);
      });
    };
    int64_t left = call.rows;
    const auto add_rows = [&](auto count) CANOPY_JOINT_LAMBDA {
      for (; left >= count; left -= count) {
        for (int64_t i = 0; i < whole; i += kJointLanes) add(count, std::false_type(), i);
        if constexpr (kJointTails) {
          if (last_lanes > 0) add(count, std::true_type(), whole);
        }
        g += count * g_row;
        x += count * x_row;
        before += count * before_row;
        to += count * to_row;
      }
    };
    if constexpr (Taps::kAtOnce >= 4) add_rows(std::integral_constant<int, 4>());
    if constexpr (Taps::kAtOnce >= 2) add_rows(std::integral_constant<int, 2>());
    add_rows(std::integral_constant<int, 1>());
  }
  if constexpr (kWeights) taps.StoreSums(call);
}

template <int kRows, int kColumns, bool kData, bool kWeights>
void JointPlane(const JointCall& call) {
  if constexpr (kData) {
    if (call.before.first != nullptr) return JointImages<kRows, kColumns, kData, kWeights, true>(call);
  }
  JointImages<kRows, kColumns, kData, kWeights, false>(call);
}

#undef CANOPY_JOINT_LAMBDA

// ---- the list ------------------------------------------------------------------------------------------------------

template <int kRows, int kColumns>
void FillJointColumns(JointKernels* kernels) {
  kernels->kernels[kJointBoth][kRows][kColumns] = &JointPlane<kRows, kColumns, true, true>;
  kernels->kernels[kJointData][kRows][kColumns] = &JointPlane<kRows, kColumns, true, false>;
  kernels->kernels[kJointWeights][kRows][kColumns] = &JointPlane<kRows, kColumns, false, true>;
  kernels->at_once[kRows][kColumns] = JointRowsAtOnce(kRows, kColumns);
  kernels->most_columns[kRows] = HWY_MAX(kernels->most_columns[kRows], kColumns);
  if constexpr (kColumns > 1) FillJointColumns<kRows, kColumns - 1>(kernels);
}

inline const JointKernels& JointPlanesOfTarget() {
  static const struct Table {
    JointKernels kernels{};
    Table() {
      kernels.lanes = static_cast<int>(kJointLanes);
      kernels.tails = kJointTails;
      kernels.target = hwy::TargetName(HWY_TARGET);
#define CANOPY_JOINT_PLANES(registers, rows, columns) \
  if constexpr (registers == CANOPY_VECTOR_REGISTERS) FillJointColumns<rows, columns>(&kernels);
#include "kernels/joint_planes/kernels.inc"
#undef CANOPY_JOINT_PLANES
    }
  } table;
  return table.kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_JOINT_PLANES_BODY_INL_H_
