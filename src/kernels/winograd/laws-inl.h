// SPDX-License-Identifier: Apache-2.0
// One axis of each of Winograd's transforms, from kFrom elements to kTo, and two axes of them. Compiled once per
// target.
#if defined(CANOPY_KERNELS_WINOGRAD_LAWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_WINOGRAD_LAWS_INL_H_
#undef CANOPY_KERNELS_WINOGRAD_LAWS_INL_H_
#else
#define CANOPY_KERNELS_WINOGRAD_LAWS_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "kernels/winograd/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using WinogradTag = hn::CappedTag<float, kWinogradLanes>;
using WinogradVec = hn::Vec<WinogradTag>;

// The points a and b, and what follows from them. Opposite points share all but the sign of their odd terms. Any two
// take the same instructions; these two are exact in FP32, as are their squares, and halve the error that 1 and 2 have.
inline constexpr double kPointA = 0.625, kPointB = 1.5;
inline constexpr double kSquareA = kPointA * kPointA, kSquareB = kPointB * kPointB;
inline constexpr double kNormA = 1 / (2 * kSquareA * (kSquareA - kSquareB));
inline constexpr double kNormB = 1 / (2 * kSquareB * (kSquareB - kSquareA));

HWY_INLINE WinogradVec Constant(double value) { return hn::Set(WinogradTag(), static_cast<float>(value)); }

// Where point i of n is among the six: the last is infinity.
constexpr int PointOf(int i, int n) { return i + 1 < n ? i : kWinogradPoints - 1; }

// A window of as many pixels as points. Kernels' numbers are those of six points: with fewer, a window's make up for it
// by the distances to the points that are left out.
template <int kPoints>
struct InputLaw;

template <>
struct InputLaw<6> {
  static constexpr int kFrom = 6, kTo = 6, kPairs = 3;
  // The points two at a time: 0 and infinity, a and -a, b and -b.
  static constexpr int kPairPoints[kPairs][2] = {{0, 5}, {1, 2}, {3, 4}};

  HWY_INLINE static void Apply(const WinogradVec* HWY_RESTRICT d, WinogradVec* HWY_RESTRICT to) {
    const auto load = [d](int i) HWY_ATTR { return d[i]; };
    ApplyPair<0>(load, to, to + 5);
    ApplyPair<1>(load, to + 1, to + 2);
    ApplyPair<2>(load, to + 3, to + 4);
  }

  // A pair's numbers of pixels that load(i) gives.
  template <int kPair, class Load>
  HWY_INLINE static void ApplyPair(const Load& load, WinogradVec* first, WinogradVec* second) {
    if constexpr (kPair == 0) {
      const WinogradVec sum = Constant(kSquareA + kSquareB), product = Constant(kSquareA * kSquareB);
      *first = hn::MulAdd(product, load(0), hn::NegMulAdd(sum, load(2), load(4)));
      *second = hn::MulAdd(product, load(1), hn::NegMulAdd(sum, load(3), load(5)));
    } else {
      const WinogradVec point = Constant(kPair == 1 ? kPointA : kPointB);
      const WinogradVec other = Constant(kPair == 1 ? kSquareB : kSquareA);
      const WinogradVec even = hn::NegMulAdd(other, load(2), load(4)), odd = hn::NegMulAdd(other, load(1), load(3));
      *first = hn::MulAdd(point, odd, even);
      *second = hn::NegMulAdd(point, odd, even);
    }
  }
};

// 0, a, -a, b and infinity.
template <>
struct InputLaw<5> {
  static constexpr int kFrom = 5, kTo = 5;
  HWY_INLINE static void Apply(const WinogradVec* HWY_RESTRICT d, WinogradVec* HWY_RESTRICT to) {
    const WinogradVec b = Constant(kPointB), a2 = Constant(kSquareA);
    // Without -a and a, and b.
    const WinogradVec square = hn::NegMulAdd(a2, d[1], d[3]), rest = hn::NegMulAdd(a2, d[0], d[2]);
    to[0] = hn::Mul(b, hn::NegMulAdd(b, rest, square));
    const WinogradVec odd = hn::NegMulAdd(b, d[1], d[2]), even = hn::NegMulAdd(b, d[2], d[3]);
    to[1] = hn::Mul(Constant(kPointA + kPointB), hn::MulAdd(Constant(kPointA), odd, even));
    to[2] = hn::Mul(Constant(kPointB - kPointA), hn::NegMulAdd(Constant(kPointA), odd, even));
    to[3] = hn::Mul(Constant(2 * kPointB), square);
    to[4] = hn::NegMulAdd(b, square, hn::NegMulAdd(a2, d[2], d[4]));
  }
};

// 0, a, -a and infinity.
template <>
struct InputLaw<4> {
  static constexpr int kFrom = 4, kTo = 4;
  HWY_INLINE static void Apply(const WinogradVec* HWY_RESTRICT d, WinogradVec* HWY_RESTRICT to) {
    const WinogradVec far = Constant(kSquareA - kSquareB);
    const WinogradVec even = hn::Mul(far, d[2]), odd = hn::Mul(Constant(kPointA * (kSquareA - kSquareB)), d[1]);
    to[0] = hn::Mul(Constant(kSquareB), hn::MulSub(Constant(kSquareA), d[0], d[2]));
    to[1] = hn::Add(even, odd);
    to[2] = hn::Sub(even, odd);
    to[3] = hn::NegMulAdd(Constant(kSquareA), d[1], d[3]);
  }
};

// 0, a and infinity.
template <>
struct InputLaw<3> {
  static constexpr int kFrom = 3, kTo = 3;
  HWY_INLINE static void Apply(const WinogradVec* HWY_RESTRICT d, WinogradVec* HWY_RESTRICT to) {
    const WinogradVec a = Constant(kPointA);
    to[0] = hn::Mul(Constant(kPointA * kSquareB), hn::MulSub(a, d[0], d[1]));
    to[1] = hn::Mul(Constant(2 * kPointA * (kSquareA - kSquareB)), d[1]);
    to[2] = hn::NegMulAdd(a, d[1], d[2]);
  }
};

// A kernel of kElements, whatever the points of the window that it meets.
template <int kElements>
struct KernelLaw {
  static constexpr int kFrom = kElements, kTo = 6;
  HWY_INLINE static void Apply(const WinogradVec* HWY_RESTRICT g, WinogradVec* HWY_RESTRICT to) {
    to[0] = hn::Mul(Constant(1 / (kSquareA * kSquareB)), g[0]);
    AtOpposites(kPointA, kNormA, g, to + 1);
    AtOpposites(kPointB, kNormB, g, to + 3);
    to[5] = g[kFrom - 1];
  }

 private:
  // At `point` and at its negative.
  HWY_INLINE static void AtOpposites(double point, double norm, const WinogradVec* HWY_RESTRICT g,
                                     WinogradVec* HWY_RESTRICT to) {
    const double square = point * point;
    WinogradVec even = hn::Mul(Constant(norm), g[0]);
    if constexpr (kFrom == 1) {
      to[0] = to[1] = even;
    } else {
      WinogradVec odd = g[1];
      if constexpr (kFrom > 2) even = hn::MulAdd(Constant(square * norm), g[2], even);
      if constexpr (kFrom > 3) odd = hn::MulAdd(Constant(square), g[3], odd);
      if constexpr (kFrom > 4) even = hn::MulAdd(Constant(square * square * norm), g[4], even);
      to[0] = hn::MulAdd(Constant(point * norm), odd, even);
      to[1] = hn::NegMulAdd(Constant(point * norm), odd, even);
    }
  }
};

// kResults of the kernel with kPoints + 1 - kResults elements.
template <int kPoints, int kResults>
struct ResultLaw {
  static constexpr int kFrom = kPoints, kTo = kResults;
  HWY_INLINE static void Apply(const WinogradVec* HWY_RESTRICT m, WinogradVec* HWY_RESTRICT to) {
    WinogradVec even_a = m[1], odd_a = m[1], even_b = m[1], odd_b = m[1];
    if constexpr (kPoints > 3) {
      even_a = hn::Add(m[1], m[2]);
      odd_a = hn::Sub(m[1], m[2]);
    }
    if constexpr (kPoints > 4) even_b = odd_b = m[3];
    if constexpr (kPoints > 5) {
      even_b = hn::Add(m[3], m[4]);
      odd_b = hn::Sub(m[3], m[4]);
    }
    // The sum of the points' terms with their powers.
    const auto powers = [](double power_a, const WinogradVec& at_a, double power_b, const WinogradVec& at_b) HWY_ATTR {
      if constexpr (kPoints <= 4) return hn::Mul(Constant(power_a), at_a);
      return hn::MulAdd(Constant(power_a), at_a, hn::Mul(Constant(power_b), at_b));
    };
    to[0] = hn::Add(m[0], kPoints > 4 ? hn::Add(even_a, even_b) : even_a);
    if constexpr (kTo > 1) to[1] = powers(kPointA, odd_a, kPointB, odd_b);
    if constexpr (kTo > 2) to[2] = powers(kSquareA, even_a, kSquareB, even_b);
    if constexpr (kTo > 3) to[3] = powers(kSquareA * kPointA, odd_a, kSquareB * kPointB, odd_b);
    if constexpr (kTo > 4) to[4] = powers(kSquareA * kSquareA, even_a, kSquareB * kSquareB, even_b);
    to[kTo - 1] = hn::Add(to[kTo - 1], m[kFrom - 1]);
  }
};

// A line.
struct OnlyOne {
  static constexpr int kFrom = 1, kTo = 1;
};

// Along rows and columns, of which rows kFirst to kEnd result.
template <class Rows, class Columns, int kFirst, int kEnd, class Load, class Store>
HWY_INLINE void TransformRows(const Load& load, const Store& store) {
  WinogradVec half[kEnd - kFirst][Columns::kFrom];
#pragma GCC unroll 6
  for (int x = 0; x < Columns::kFrom; ++x) {
    WinogradVec from[Rows::kFrom], to[Rows::kTo];
#pragma GCC unroll 6
    for (int y = 0; y < Rows::kFrom; ++y) from[y] = load(y, x);
    Rows::Apply(from, to);
#pragma GCC unroll 6
    for (int y = kFirst; y < kEnd; ++y) half[y - kFirst][x] = to[y];
  }
#pragma GCC unroll 6
  for (int y = kFirst; y < kEnd; ++y) {
    WinogradVec to[Columns::kTo];
    Columns::Apply(half[y - kFirst], to);
#pragma GCC unroll 6
    for (int x = 0; x < Columns::kTo; ++x) store(y, x, to[x]);
  }
}

// What the registers hold between rows and columns, next to the laws' constants. Loading twice costs less than storing.
inline constexpr int kMostHalfTransformed = 24;

// Along rows and columns, or columns alone, read and written element by element.
template <class Rows, class Columns, class Load, class Store>
HWY_INLINE void Transform(const Load& load, const Store& store) {
  if constexpr (std::is_same_v<Rows, OnlyOne>) {
    WinogradVec from[Columns::kFrom], to[Columns::kTo];
#pragma GCC unroll 6
    for (int x = 0; x < Columns::kFrom; ++x) from[x] = load(0, x);
    Columns::Apply(from, to);
#pragma GCC unroll 6
    for (int x = 0; x < Columns::kTo; ++x) store(0, x, to[x]);
  } else if constexpr (Rows::kTo * Columns::kFrom <= kMostHalfTransformed) {
    TransformRows<Rows, Columns, 0, Rows::kTo>(load, store);
  } else {
    TransformRows<Rows, Columns, 0, Rows::kTo / 2>(load, store);
    asm volatile("" ::: "memory");  // or what was loaded waits in memory
    TransformRows<Rows, Columns, Rows::kTo / 2, Rows::kTo>(load, store);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_WINOGRAD_LAWS_INL_H_
