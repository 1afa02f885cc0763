// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_WINOGRAD_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_WINOGRAD_BODY_INL_H_
#undef CANOPY_KERNELS_WINOGRAD_BODY_INL_H_
#else
#define CANOPY_KERNELS_WINOGRAD_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "kernels/winograd/contract.h"
#include "kernels/winograd/laws-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Rows, class Columns>
void WinogradIn(const float* HWY_RESTRICT tile, const int64_t* HWY_RESTRICT offsets, int64_t count,
                float* HWY_RESTRICT points, int64_t step) {
  const WinogradTag d;
  for (int64_t c = 0; c < count; c += static_cast<int64_t>(hn::Lanes(d))) {
    Transform<Rows, Columns>([&](int y, int x) { return hn::LoadU(d, tile + offsets[y * Columns::kFrom + x] + c); },
                             [&](int y, int x, WinogradVec value) {
                               const int point = (Rows::kTo == 1 ? 0 : PointOf(y, Rows::kTo) * kWinogradPoints) +
                                                 PointOf(x, Columns::kTo);
                               hn::StoreU(value, d, points + point * step + c);
                             });
  }
}

template <class Rows, class Columns>
void WinogradOut(const float* HWY_RESTRICT points, int64_t step, int64_t count, float* HWY_RESTRICT tile,
                 const int64_t* HWY_RESTRICT offsets) {
  const WinogradTag d;
  for (int64_t c = 0; c < count; c += static_cast<int64_t>(hn::Lanes(d))) {
    Transform<Rows, Columns>(
        [&](int y, int x) {
          const int point =
              (Rows::kFrom == 1 ? 0 : PointOf(y, Rows::kFrom) * kWinogradPoints) + PointOf(x, Columns::kFrom);
          return hn::LoadU(d, points + point * step + c);
        },
        [&](int y, int x, WinogradVec value) { hn::StoreU(value, d, tile + offsets[y * Columns::kTo + x] + c); });
  }
}

template <int kValue>
using Number = std::integral_constant<int, kValue>;

// Visits the numbers kFirst, ..., kLast.
template <int kFirst, int kLast, class Visit>
void ForNumbers(const Visit& visit) {
  if constexpr (kFirst <= kLast) {
    visit(Number<kFirst>());
    ForNumbers<kFirst + 1, kLast>(visit);
  }
}

// Transforms whose law along rows is given, by the number of columns.
template <class Rows>
void FillInput(WinogradInFn* at) {
  ForNumbers<kFewestWinogradPoints, kWinogradPoints>(
      [at]<int n>(Number<n>) { at[n] = &WinogradIn<Rows, InputLaw<n>>; });
}
template <class Rows>
void FillKernel(WinogradInFn* at) {
  ForNumbers<1, kMostWinogradKernel>([at]<int n>(Number<n>) { at[n] = &WinogradIn<Rows, KernelLaw<n>>; });
}

// Of a kernel of k elements an axis.
constexpr int FewestResults(int k) { return std::max(1, kFewestWinogradPoints + 1 - k); }
constexpr int MostResults(int k) { return kWinogradPoints + 1 - k; }
template <class Rows, int k>
void FillResults(WinogradOutFn* at) {
  ForNumbers<FewestResults(k), MostResults(k)>(
      [at]<int n>(Number<n>) { at[n] = &WinogradOut<Rows, ResultLaw<n + k - 1, n>>; });
}

inline const WinogradKernels& WinogradOfLines() {
  static const struct Table {
    WinogradKernels kernels{};
    Table() {
      FillInput<OnlyOne>(kernels.input[1]);
      FillKernel<OnlyOne>(kernels.kernel[1]);
      ForNumbers<kLeastWinogradKernel, kMostWinogradKernel>(
          [this]<int k>(Number<k>) { FillResults<OnlyOne, k>(kernels.results[k][1]); });
    }
  } table;
  return table.kernels;
}

inline const WinogradKernels& WinogradOfSquares() {
  static const struct Table {
    WinogradKernels kernels{};
    Table() {
      ForNumbers<kFewestWinogradPoints, kWinogradPoints>(
          [this]<int n>(Number<n>) { FillInput<InputLaw<n>>(kernels.input[n]); });
      ForNumbers<1, kMostWinogradKernel>([this]<int n>(Number<n>) { FillKernel<KernelLaw<n>>(kernels.kernel[n]); });
      ForNumbers<kLeastWinogradKernel, kMostWinogradKernel>([this]<int k>(Number<k>) {
        ForNumbers<FewestResults(k), MostResults(k)>(
            [this]<int n>(Number<n>) { FillResults<ResultLaw<n + k - 1, n>, k>(kernels.results[k][n]); });
      });
    }
  } table;
  return table.kernels;
}

// kRows rows; enough of them hide how long a multiply-add takes.
template <int kRows>
HWY_INLINE void MultiplyRows(const WinogradVec* HWY_RESTRICT kernel, const float* HWY_RESTRICT windows,
                             const int64_t* HWY_RESTRICT offsets, float* HWY_RESTRICT sums) {
  const WinogradTag d;
  WinogradVec row_sums[kRows];
  const float* HWY_RESTRICT rows[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    row_sums[r] = hn::Zero(d);
    rows[r] = windows + offsets[r];
  }
#pragma GCC unroll 16
  for (int k = 0; k < kWinogradLanes; ++k) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) row_sums[r] = hn::MulAdd(hn::Set(d, rows[r][k]), kernel[k], row_sums[r]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) hn::StoreU(row_sums[r], d, sums + r * kWinogradLanes);
}

inline void MultiplyByKernelInRegisters(const float* HWY_RESTRICT windows, const float* HWY_RESTRICT numbers,
                                        const int64_t* HWY_RESTRICT offsets, int64_t rows, float* HWY_RESTRICT sums) {
  constexpr int kRows = 8;
  WinogradVec kernel[kWinogradLanes];
#pragma GCC unroll 16
  for (int k = 0; k < kWinogradLanes; ++k) kernel[k] = hn::LoadU(WinogradTag(), numbers + k * kWinogradLanes);
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) MultiplyRows<kRows>(kernel, windows, offsets + r, sums + r * kWinogradLanes);
  for (; r < rows; ++r) MultiplyRows<1>(kernel, windows, offsets + r, sums + r * kWinogradLanes);
}

inline WinogradProductFn WinogradProductOfTarget() {
  constexpr bool kFits = hn::MaxLanes(WinogradTag()) == kWinogradLanes && CANOPY_VECTOR_REGISTERS > kWinogradLanes;
  if constexpr (kFits) return &MultiplyByKernelInRegisters;
  return nullptr;
}

inline const WinogradKernels& WinogradOfTarget(int axes) { return axes == 1 ? WinogradOfLines() : WinogradOfSquares(); }

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_WINOGRAD_BODY_INL_H_
