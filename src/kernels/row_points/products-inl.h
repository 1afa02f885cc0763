// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_ROW_POINTS_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_ROW_POINTS_PRODUCTS_INL_H_
#undef CANOPY_KERNELS_ROW_POINTS_PRODUCTS_INL_H_
#else
#define CANOPY_KERNELS_ROW_POINTS_PRODUCTS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <utility>

#include "kernels/ask.h"
#include "kernels/convert/convert-inl.h"
#include "kernels/row_points/contract.h"
#include "kernels/winograd/laws-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace cv = convert::HWY_NAMESPACE;
using convert::Form;
using Window = InputLaw<kWinogradPoints>;  // its points in pairs, whose sums the registers hold together

// Which rows of a window exist, and where they stand in a plane.
struct WindowRows {
  int64_t offsets[kWinogradPoints];
  bool exist[kWinogradPoints];
  bool all = true;

  WindowRows(const PointRows& call, int64_t row) {
    for (int y = 0; y < kWinogradPoints; ++y) {
      offsets[y] = (row + y) * call.row_step;
      exist[y] = row + y >= 0 && row + y < call.height;
      all = all && exist[y];
    }
  }
};

// One vector of pixels from `at` on, of which `count` exist, all sources, at a pair of points.
template <Form kForm, int kRows, int kPair, bool kAll, bool kWhole>
HWY_INLINE void AddPair(const RowProducts& call, const WindowRows& rows, int64_t at, int64_t count, float* results) {
  using Element = const cv::FormElement<kForm>;
  const WinogradTag d;
  WinogradVec sums[2][kRows];
#pragma GCC unroll 2
  for (int j = 0; j < 2; ++j) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) sums[j][r] = hn::Zero(d);
  }
  // As locals they stay in registers.
  int64_t offsets[kWinogradPoints];
#pragma GCC unroll 6
  for (int y = 0; y < kWinogradPoints; ++y) offsets[y] = rows.offsets[y] + at;
  const int64_t weights_step = call.weights_step;
  const int64_t next_tile = call.tile_rows * call.row_step;
  const ProductSource* const end = call.sources + call.source_count;
  for (const ProductSource* source = call.sources; source != end; ++source) {
    Element* const plane = static_cast<Element*>(source->plane);
    const auto load = [&](int y) HWY_ATTR {
      if constexpr (!kAll) {
        if (!rows.exist[y]) return hn::Zero(d);
      }
      if constexpr (kWhole) return cv::LoadForm<kForm>(d, plane + offsets[y]);
      return cv::LoadFormN<kForm>(d, plane + offsets[y], static_cast<size_t>(count));
    };
    // Of the next tile's rows those that this one has not, but for the first of five. What does not exist is near
    // something that does.
    if constexpr (kPair > 0) {
      Ask(plane + offsets[2 * kPair] + next_tile);
      Ask(plane + offsets[2 * kPair + 1] + next_tile);
    }
    WinogradVec numbers[2];
    Window::ApplyPair<kPair>(load, &numbers[0], &numbers[1]);
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const float* weights = source->weights + Window::kPairPoints[kPair][j] * weights_step;
      asm("" : "+r"(weights));  // or GCC keeps where each stands relative to the first, in memory
#pragma GCC unroll 12
      for (int r = 0; r < kRows; ++r) sums[j][r] = hn::MulAdd(hn::Set(d, weights[r]), numbers[j], sums[j][r]);
    }
  }
#pragma GCC unroll 2
  for (int j = 0; j < 2; ++j) {
    float* to = results + Window::kPairPoints[kPair][j] * call.step;
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r, to += call.result_row) {
      hn::StoreU(call.accumulate ? hn::Add(hn::LoadU(d, to), sums[j][r]) : sums[j][r], d, to);
    }
  }
}

template <Form kForm, int kRows, bool kAll, bool kWhole>
HWY_INLINE void AddPairs(const RowProducts& call, const WindowRows& rows, int64_t at, int64_t count, float* results) {
  AddPair<kForm, kRows, 0, kAll, kWhole>(call, rows, at, count, results);
  AddPair<kForm, kRows, 1, kAll, kWhole>(call, rows, at, count, results);
  AddPair<kForm, kRows, 2, kAll, kWhole>(call, rows, at, count, results);
}

template <Form kForm, int kRows>
void ProductsOfRows(const RowProducts& call) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(WinogradTag()));
  for (int64_t t = 0; t < call.tiles; ++t) {
    const WindowRows rows(call, call.row + t * call.tile_rows);
    float* results = call.results + t * call.pitch;
    for (int64_t i = 0; i < call.count; i += kLanes) {
      const int64_t count = call.count - i;
      if (!rows.all) {
        AddPairs<kForm, kRows, false, false>(call, rows, i, std::min(count, kLanes), results + i);
      } else if (count < kLanes) {
        AddPairs<kForm, kRows, true, false>(call, rows, i, count, results + i);
      } else {
        AddPairs<kForm, kRows, true, true>(call, rows, i, kLanes, results + i);
      }
    }
  }
}

// Two points' sums, their numbers, and what these are made of.
constexpr int MostProductRows() {
  return HWY_TARGET == HWY_SCALAR ? 4 : std::min(kMostProductRows, (CANOPY_VECTOR_REGISTERS - 8) / 2);
}

template <Form kForm, int... kRows>
void FillProducts(RowProductsKernels* kernels, std::integer_sequence<int, kRows...>) {
  ((kernels->products[kRows + 1][static_cast<int>(kForm)] = &ProductsOfRows<kForm, kRows + 1>), ...);
}

inline const RowProductsKernels& RowProductsOfTarget() {
  static const struct Table {
    RowProductsKernels kernels{};
    Table() {
      constexpr auto kSizes = std::make_integer_sequence<int, MostProductRows()>();
      kernels.most_rows = MostProductRows();
      FillProducts<Form::kFloat32>(&kernels, kSizes);
      FillProducts<Form::kHfloat32x11>(&kernels, kSizes);
      FillProducts<Form::kFloat16>(&kernels, kSizes);
      FillProducts<Form::kBFloat16>(&kernels, kSizes);
    }
  } table;
  return table.kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_ROW_POINTS_PRODUCTS_INL_H_
