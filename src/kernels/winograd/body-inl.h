// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_WINOGRAD_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_WINOGRAD_BODY_INL_H_
#undef CANOPY_KERNELS_WINOGRAD_BODY_INL_H_
#else
#define CANOPY_KERNELS_WINOGRAD_BODY_INL_H_
#endif

#include <hwy/highway.h>

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

// One axis of each transform, from kFrom elements to kTo.
struct InputLaw {
  static constexpr int kFrom = 6, kTo = 6;
  HWY_INLINE static void Apply(const WinogradVec* HWY_RESTRICT d, WinogradVec* HWY_RESTRICT to) {
    const WinogradVec a = Constant(kPointA), b = Constant(kPointB);
    const WinogradVec a2 = Constant(kSquareA), b2 = Constant(kSquareB);
    const WinogradVec sum = Constant(kSquareA + kSquareB), product = Constant(kSquareA * kSquareB);
    to[0] = hn::MulAdd(product, d[0], hn::NegMulAdd(sum, d[2], d[4]));
    const WinogradVec even_a = hn::NegMulAdd(b2, d[2], d[4]), odd_a = hn::NegMulAdd(b2, d[1], d[3]);
    to[1] = hn::MulAdd(a, odd_a, even_a);
    to[2] = hn::NegMulAdd(a, odd_a, even_a);
    const WinogradVec even_b = hn::NegMulAdd(a2, d[2], d[4]), odd_b = hn::NegMulAdd(a2, d[1], d[3]);
    to[3] = hn::MulAdd(b, odd_b, even_b);
    to[4] = hn::NegMulAdd(b, odd_b, even_b);
    to[5] = hn::MulAdd(product, d[1], hn::NegMulAdd(sum, d[3], d[5]));
  }
};

// A kernel of kElements.
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
    WinogradVec even = hn::Mul(Constant(norm), g[0]), odd = g[1];
    if constexpr (kFrom > 2) even = hn::MulAdd(Constant(square * norm), g[2], even);
    if constexpr (kFrom > 3) odd = hn::MulAdd(Constant(square), g[3], odd);
    if constexpr (kFrom > 4) even = hn::MulAdd(Constant(square * square * norm), g[4], even);
    to[0] = hn::MulAdd(Constant(point * norm), odd, even);
    to[1] = hn::NegMulAdd(Constant(point * norm), odd, even);
  }
};

// kTo results of the kernel with 7 - kTo elements.
template <int kResults>
struct ResultLaw {
  static constexpr int kFrom = 6, kTo = kResults;
  HWY_INLINE static void Apply(const WinogradVec* HWY_RESTRICT m, WinogradVec* HWY_RESTRICT to) {
    const WinogradVec even_a = hn::Add(m[1], m[2]), odd_a = hn::Sub(m[1], m[2]);
    const WinogradVec even_b = hn::Add(m[3], m[4]), odd_b = hn::Sub(m[3], m[4]);
    // The sum of the points' terms with their powers.
    const auto powers = [](double power_a, const WinogradVec& at_a, double power_b, const WinogradVec& at_b)
                            HWY_ATTR { return hn::MulAdd(Constant(power_a), at_a, hn::Mul(Constant(power_b), at_b)); };
    to[0] = hn::Add(m[0], hn::Add(even_a, even_b));
    to[1] = powers(kPointA, odd_a, kPointB, odd_b);
    if constexpr (kTo > 2) to[2] = powers(kSquareA, even_a, kSquareB, even_b);
    if constexpr (kTo > 3) to[3] = powers(kSquareA * kPointA, odd_a, kSquareB * kPointB, odd_b);
    if constexpr (kTo > 4) to[4] = powers(kSquareA * kSquareA, even_a, kSquareB * kSquareB, even_b);
    to[kTo - 1] = hn::Add(to[kTo - 1], m[5]);
  }
};

// Law::kFrom elements to Law::kTo along one axis or both, read and written element by element.
template <class Law, int kAxes, class Load, class Store>
HWY_INLINE void Transform(const Load& load, const Store& store) {
  if constexpr (kAxes == 1) {
    WinogradVec from[Law::kFrom], to[Law::kTo];
#pragma GCC unroll 6
    for (int x = 0; x < Law::kFrom; ++x) from[x] = load(x);
    Law::Apply(from, to);
#pragma GCC unroll 6
    for (int x = 0; x < Law::kTo; ++x) store(x, to[x]);
    return;
  }
  WinogradVec half[Law::kTo][Law::kFrom];  // columns first, then rows
#pragma GCC unroll 6
  for (int x = 0; x < Law::kFrom; ++x) {
    WinogradVec from[Law::kFrom], to[Law::kTo];
#pragma GCC unroll 6
    for (int y = 0; y < Law::kFrom; ++y) from[y] = load(y * Law::kFrom + x);
    Law::Apply(from, to);
#pragma GCC unroll 6
    for (int y = 0; y < Law::kTo; ++y) half[y][x] = to[y];
  }
#pragma GCC unroll 6
  for (int y = 0; y < Law::kTo; ++y) {
    WinogradVec to[Law::kTo];
    Law::Apply(half[y], to);
#pragma GCC unroll 6
    for (int x = 0; x < Law::kTo; ++x) store(y * Law::kTo + x, to[x]);
  }
}

template <class Law, int kAxes>
void WinogradIn(const float* HWY_RESTRICT tile, const int64_t* HWY_RESTRICT offsets, int64_t count,
                float* HWY_RESTRICT points, int64_t step) {
  const WinogradTag d;
  for (int64_t c = 0; c < count; c += static_cast<int64_t>(hn::Lanes(d))) {
    Transform<Law, kAxes>([&](int e) { return hn::LoadU(d, tile + offsets[e] + c); },
                          [&](int e, WinogradVec value) { hn::StoreU(value, d, points + e * step + c); });
  }
}

template <class Law, int kAxes>
void WinogradOut(const float* HWY_RESTRICT points, int64_t step, int64_t count, float* HWY_RESTRICT tile,
                 const int64_t* HWY_RESTRICT offsets) {
  const WinogradTag d;
  for (int64_t c = 0; c < count; c += static_cast<int64_t>(hn::Lanes(d))) {
    Transform<Law, kAxes>([&](int e) { return hn::LoadU(d, points + e * step + c); },
                          [&](int e, WinogradVec value) { hn::StoreU(value, d, tile + offsets[e] + c); });
  }
}

template <int kAxes, int kElements>
void FillWinograd(WinogradKernels* kernels) {
  kernels->kernel[kElements] = &WinogradIn<KernelLaw<kElements>, kAxes>;
  kernels->results[kElements] = &WinogradOut<ResultLaw<kElements>, kAxes>;
  if constexpr (kElements > kLeastWinogradKernel) FillWinograd<kAxes, kElements - 1>(kernels);
}

template <int kAxes>
const WinogradKernels& WinogradAlong() {
  static const struct Table {
    WinogradKernels kernels{};
    Table() {
      kernels.input = &WinogradIn<InputLaw, kAxes>;
      FillWinograd<kAxes, kMostWinogradKernel>(&kernels);
    }
  } table;
  return table.kernels;
}

// kRows rows; enough of them hide how long a multiply-add takes.
template <int kRows>
HWY_INLINE void MultiplyRows(const WinogradVec* HWY_RESTRICT kernel, const float* HWY_RESTRICT windows,
                             float* HWY_RESTRICT sums) {
  const WinogradTag d;
  WinogradVec row_sums[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) row_sums[r] = hn::Zero(d);
#pragma GCC unroll 16
  for (int k = 0; k < kWinogradLanes; ++k) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      row_sums[r] = hn::MulAdd(hn::Set(d, windows[r * kWinogradLanes + k]), kernel[k], row_sums[r]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) hn::StoreU(row_sums[r], d, sums + r * kWinogradLanes);
}

inline void MultiplyByKernelInRegisters(const float* HWY_RESTRICT windows, const float* HWY_RESTRICT numbers,
                                        int64_t rows, float* HWY_RESTRICT sums) {
  constexpr int kRows = 8;
  WinogradVec kernel[kWinogradLanes];
#pragma GCC unroll 16
  for (int k = 0; k < kWinogradLanes; ++k) kernel[k] = hn::LoadU(WinogradTag(), numbers + k * kWinogradLanes);
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) {
    MultiplyRows<kRows>(kernel, windows + r * kWinogradLanes, sums + r * kWinogradLanes);
  }
  for (; r < rows; ++r) MultiplyRows<1>(kernel, windows + r * kWinogradLanes, sums + r * kWinogradLanes);
}

inline WinogradProductFn WinogradProductOfTarget() {
  constexpr bool kFits = hn::MaxLanes(WinogradTag()) == kWinogradLanes && CANOPY_VECTOR_REGISTERS > kWinogradLanes;
  if constexpr (kFits) return &MultiplyByKernelInRegisters;
  return nullptr;
}

inline const WinogradKernels& WinogradOfTarget(int axes) { return axes == 1 ? WinogradAlong<1>() : WinogradAlong<2>(); }

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_WINOGRAD_BODY_INL_H_
