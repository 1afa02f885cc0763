// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_ROW_POINTS_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_ROW_POINTS_BODY_INL_H_
#undef CANOPY_KERNELS_ROW_POINTS_BODY_INL_H_
#else
#define CANOPY_KERNELS_ROW_POINTS_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <atomic>
#include <utility>

#include "kernels/convert/convert-inl.h"
#include "kernels/row_points/contract.h"
#include "kernels/winograd/laws-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace cv = convert::HWY_NAMESPACE;
using convert::Form;

// Where the rows of a tile stand, from `row` on; `absent` for those that do not exist.
template <int kRows, class Element>
HWY_INLINE void FindRows(const PointRows& call, int64_t row, Element* plane, Element* absent, Element** rows) {
  const uint64_t height = static_cast<uint64_t>(call.height);
  Element* at = plane + row * call.row_step;
#pragma GCC unroll 6
  for (int y = 0; y < kRows; ++y, at += call.row_step) {
    rows[y] = static_cast<uint64_t>(row + y) < height ? at : absent;
  }
}

template <class Law, Form kForm, bool kSums>
void ToPoints(const RowsToPoints& call) {
  using Element = const cv::FormElement<kForm>;
  const WinogradTag d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(WinogradTag()));
  const int64_t step = call.step, whole = call.count / kLanes * kLanes;
  const size_t rest = static_cast<size_t>(call.count - whole);
  WinogradVec sum = hn::Zero(d);
  for (int64_t t = 0; t < call.tiles; ++t) {
    Element* rows[Law::kFrom];
    FindRows<Law::kFrom>(call, call.row + t * call.tile_rows, static_cast<Element*>(call.plane),
                         static_cast<Element*>(call.zeros), rows);
    float* HWY_RESTRICT points = call.points + t * call.pitch;
    const auto transform = [&](const auto& load, int64_t i) HWY_ATTR {
      WinogradVec from[Law::kFrom], to[Law::kTo];
#pragma GCC unroll 6
      for (int y = 0; y < Law::kFrom; ++y) {
        from[y] = load(rows[y] + i);
        if constexpr (kSums) sum = hn::Add(sum, from[y]);
      }
      std::atomic_signal_fence(std::memory_order_seq_cst);  // or GCC loads them again for each use
      Law::Apply(from, to);
#pragma GCC unroll 6
      for (int p = 0; p < Law::kTo; ++p) hn::StoreU(to[p], d, points + p * step + i);
    };
    int64_t i = 0;
    for (; i < whole; i += kLanes) {
      transform([d](Element* from) HWY_ATTR { return cv::LoadForm<kForm>(d, from); }, i);
    }
    if (rest > 0) {
      transform([d, rest](Element* from) HWY_ATTR { return cv::LoadFormN<kForm>(d, from, rest); }, i);
    }
  }
  if constexpr (kSums) hn::StoreU(hn::Add(hn::LoadU(d, call.sums), sum), d, call.sums);
}

template <class Law, Form kForm>
bool ToRows(const PointsToRows& call) {
  using Element = cv::FormElement<kForm>;
  constexpr auto kType = convert::TypeOf(kForm);
  const WinogradTag d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(WinogradTag()));
  const int64_t step = call.step, whole = call.count / kLanes * kLanes;
  const size_t rest = static_cast<size_t>(call.count - whole);
  const int64_t* const terms = call.terms;
  const int64_t term_count = call.term_count;
  const WinogradVec added = hn::Set(d, call.added), zero = hn::Zero(d);
  WinogradVec spoilt = zero;  // by what is not finite: 0 times it is a NaN
  for (int64_t t = 0; t < call.tiles; ++t) {
    Element* rows[Law::kTo];
    FindRows<Law::kTo, Element>(call, call.row + t * call.tile_rows, static_cast<Element*>(call.plane), nullptr, rows);
    const float* points = call.points + t * call.pitch;
    const auto transform = [&](const auto& load, const auto& store, int64_t i) HWY_ATTR {
      WinogradVec from[Law::kFrom], to[Law::kTo];
      const float* at = points + terms[0] + i;
#pragma GCC unroll 6
      for (int p = 0; p < Law::kFrom; ++p) from[p] = load(at + p * step);
      for (int64_t k = 1; k < term_count; ++k) {
        at = points + terms[k] + i;
#pragma GCC unroll 6
        for (int p = 0; p < Law::kFrom; ++p) from[p] = hn::Add(from[p], load(at + p * step));
      }
      std::atomic_signal_fence(std::memory_order_seq_cst);  // likewise
      Law::Apply(from, to);
#pragma GCC unroll 5
      for (int y = 0; y < Law::kTo; ++y) {
        const WinogradVec result = hn::Add(to[y], added);
        spoilt = hn::MulAdd(result, zero, spoilt);
        if (rows[y] != nullptr) store(result, rows[y] + i);
      }
    };
    for (int64_t i = 0; i < whole; i += kLanes) {
      transform([d](const float* from) HWY_ATTR { return hn::LoadU(d, from); },
                [d](WinogradVec v, Element* to) HWY_ATTR { cv::StoreVec<kType, false>(d, v, to); }, i);
    }
    if (rest > 0) {
      transform([d, rest](const float* from) HWY_ATTR { return cv::LoadFormN<Form::kFloat32>(d, from, rest); },
                [d, rest](WinogradVec v, Element* to) HWY_ATTR { cv::StoreVecN<kType, false>(d, v, to, rest); }, whole);
    }
  }
  return hn::AllTrue(d, hn::Eq(spoilt, zero));
}

template <Form kForm, int... kRows>
void FillOfKernels(RowPointsKernels* kernels, std::integer_sequence<int, kRows...>) {
  constexpr int kFormIndex = static_cast<int>(kForm);
  ((kernels->kernels[kRows + kLeastWinogradKernel][kFormIndex] =
        &ToPoints<KernelLaw<kRows + kLeastWinogradKernel>, kForm, false>,
    kernels->summing_kernels[kRows + kLeastWinogradKernel][kFormIndex] =
        &ToPoints<KernelLaw<kRows + kLeastWinogradKernel>, kForm, true>),
   ...);
  if constexpr (kForm != Form::kHfloat32x11) {
    ((kernels->results[kRows + kLeastWinogradKernel][kFormIndex] =
          &ToRows<ResultLaw<kWinogradPoints, kWinogradPoints + 1 - kLeastWinogradKernel - kRows>, kForm>),
     ...);
  }
}

template <Form kForm>
void FillOfForm(RowPointsKernels* kernels) {
  kernels->windows[static_cast<int>(kForm)] = &ToPoints<InputLaw<kWinogradPoints>, kForm, false>;
  constexpr int kSizes = kMostWinogradKernel + 1 - kLeastWinogradKernel;
  FillOfKernels<kForm>(kernels, std::make_integer_sequence<int, kSizes>());
}

inline const RowPointsKernels& RowPointsOfTarget() {
  static const struct Table {
    RowPointsKernels kernels{};
    Table() {
      kernels.lanes = static_cast<int>(hn::MaxLanes(WinogradTag()));
      FillOfForm<Form::kFloat32>(&kernels);
      FillOfForm<Form::kHfloat32x11>(&kernels);
      FillOfForm<Form::kFloat16>(&kernels);
      FillOfForm<Form::kBFloat16>(&kernels);
    }
  } table;
  return table.kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_ROW_POINTS_BODY_INL_H_
