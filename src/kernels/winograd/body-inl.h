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

struct WeightLaw {
  static constexpr int kFrom = 3, kTo = 6;
  HWY_INLINE static void Apply(const WinogradVec* HWY_RESTRICT g, WinogradVec* HWY_RESTRICT to) {
    to[0] = hn::Mul(Constant(1 / (kSquareA * kSquareB)), g[0]);
    const WinogradVec even_a = hn::MulAdd(Constant(kSquareA * kNormA), g[2], hn::Mul(Constant(kNormA), g[0]));
    to[1] = hn::MulAdd(Constant(kPointA * kNormA), g[1], even_a);
    to[2] = hn::NegMulAdd(Constant(kPointA * kNormA), g[1], even_a);
    const WinogradVec even_b = hn::MulAdd(Constant(kSquareB * kNormB), g[2], hn::Mul(Constant(kNormB), g[0]));
    to[3] = hn::MulAdd(Constant(kPointB * kNormB), g[1], even_b);
    to[4] = hn::NegMulAdd(Constant(kPointB * kNormB), g[1], even_b);
    to[5] = g[2];
  }
};

struct GradientLaw {
  static constexpr int kFrom = 4, kTo = 6;
  HWY_INLINE static void Apply(const WinogradVec* HWY_RESTRICT g, WinogradVec* HWY_RESTRICT to) {
    to[0] = hn::Mul(Constant(1 / (kSquareA * kSquareB)), g[0]);
    const WinogradVec even_a = hn::MulAdd(Constant(kSquareA * kNormA), g[2], hn::Mul(Constant(kNormA), g[0]));
    const WinogradVec odd_a = hn::MulAdd(Constant(kSquareA), g[3], g[1]);
    to[1] = hn::MulAdd(Constant(kPointA * kNormA), odd_a, even_a);
    to[2] = hn::NegMulAdd(Constant(kPointA * kNormA), odd_a, even_a);
    const WinogradVec even_b = hn::MulAdd(Constant(kSquareB * kNormB), g[2], hn::Mul(Constant(kNormB), g[0]));
    const WinogradVec odd_b = hn::MulAdd(Constant(kSquareB), g[3], g[1]);
    to[3] = hn::MulAdd(Constant(kPointB * kNormB), odd_b, even_b);
    to[4] = hn::NegMulAdd(Constant(kPointB * kNormB), odd_b, even_b);
    to[5] = g[3];
  }
};

// kTo results of the kernel with 7 - kTo elements.
template <int kResults>
struct ResultLaw {
  static constexpr int kFrom = 6, kTo = kResults;
  HWY_INLINE static void Apply(const WinogradVec* HWY_RESTRICT m, WinogradVec* HWY_RESTRICT to) {
    const WinogradVec even_a = hn::Add(m[1], m[2]), odd_a = hn::Sub(m[1], m[2]);
    const WinogradVec even_b = hn::Add(m[3], m[4]), odd_b = hn::Sub(m[3], m[4]);
    to[0] = hn::Add(m[0], hn::Add(even_a, even_b));
    to[1] = hn::MulAdd(Constant(kPointA), odd_a, hn::Mul(Constant(kPointB), odd_b));
    to[2] = hn::MulAdd(Constant(kSquareA), even_a, hn::Mul(Constant(kSquareB), even_b));
    if constexpr (kTo == 4) {
      const WinogradVec cubes = hn::Mul(Constant(kSquareB * kPointB), odd_b);
      to[3] = hn::MulAdd(Constant(kSquareA * kPointA), odd_a, cubes);
    }
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

template <int kAxes>
const WinogradKernels& WinogradAlong() {
  static const WinogradKernels kernels = {&WinogradIn<InputLaw, kAxes>, &WinogradIn<WeightLaw, kAxes>,
                                          &WinogradIn<GradientLaw, kAxes>, &WinogradOut<ResultLaw<4>, kAxes>,
                                          &WinogradOut<ResultLaw<3>, kAxes>};
  return kernels;
}

inline const WinogradKernels& WinogradOfTarget(int axes) { return axes == 1 ? WinogradAlong<1>() : WinogradAlong<2>(); }

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_WINOGRAD_BODY_INL_H_
