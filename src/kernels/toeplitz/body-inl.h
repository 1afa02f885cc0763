// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_TOEPLITZ_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_TOEPLITZ_BODY_INL_H_
#undef CANOPY_KERNELS_TOEPLITZ_BODY_INL_H_
#else
#define CANOPY_KERNELS_TOEPLITZ_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/toeplitz/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using ToeplitzTag = hn::CappedTag<float, 16>;
using ToeplitzVec = hn::Vec<ToeplitzTag>;
inline constexpr int64_t kToeplitzLanes = static_cast<int64_t>(hn::MaxLanes(ToeplitzTag()));

// kRows rows of results.
template <int kColumns, int kRows>
HWY_INLINE void MultiplyRows(const ToeplitzVec (&weights)[kColumns], const float* HWY_RESTRICT source,
                             float* HWY_RESTRICT results) {
  const ToeplitzTag d;
  ToeplitzVec acc[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) acc[r] = hn::LoadU(d, results + r * kToeplitzLanes);
#pragma GCC unroll 16
  for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      acc[r] = hn::MulAdd(hn::Set(d, source[r * kToeplitzLanes + j]), weights[j], acc[r]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) hn::StoreU(acc[r], d, results + r * kToeplitzLanes);
}

template <int kColumns, int kRows>
void ToeplitzProduct(const ToeplitzProductCall& call) {
  const ToeplitzTag d;
  ToeplitzVec weights[kColumns];
#pragma GCC unroll 16
  for (int j = 0; j < kColumns; ++j) weights[j] = hn::LoadU(d, call.weights - j);
  const float* source = call.source;
  float* results = call.results;
  int64_t rows = call.rows;
  const auto pass = [&](int64_t done) HWY_ATTR {
    source += done * kToeplitzLanes;
    results += done * kToeplitzLanes;
    rows -= done;
  };
  for (; rows >= kRows; pass(kRows)) MultiplyRows<kColumns, kRows>(weights, source, results);
  if constexpr (kRows > 4) {
    if (rows >= 4) {
      MultiplyRows<kColumns, 4>(weights, source, results);
      pass(4);
    }
  }
  if constexpr (kRows > 2) {
    if (rows >= 2) {
      MultiplyRows<kColumns, 2>(weights, source, results);
      pass(2);
    }
  }
  if constexpr (kRows > 1) {
    if (rows > 0) MultiplyRows<kColumns, 1>(weights, source, results);
  }
}

template <int kColumns>
void ToeplitzSums(const ToeplitzSumsCall& call) {
  const ToeplitzTag d;
  ToeplitzVec acc[kColumns];
#pragma GCC unroll 16
  for (int i = 0; i < kColumns; ++i) acc[i] = hn::Zero(d);
  const float *a = call.a, *b = call.b;
  for (int64_t r = 0; r < call.rows; ++r, a += kToeplitzLanes, b += kToeplitzLanes) {
    const ToeplitzVec row = hn::LoadU(d, b);
#pragma GCC unroll 16
    for (int i = 0; i < kColumns; ++i) acc[i] = hn::MulAdd(hn::Set(d, a[i]), row, acc[i]);
  }
  // The last column's lane 0 alone is on the first diagonal; what is left moves on to the next.
  const auto inside = hn::FirstN(d, static_cast<size_t>(call.width));
  ToeplitzVec diagonals = hn::IfThenElseZero(inside, acc[kColumns - 1]);
  if constexpr (kColumns > 1) {
    const hn::RebindToSigned<ToeplitzTag> di;
    const auto last = hn::Set(di, static_cast<int32_t>(kToeplitzLanes - 1));
    const auto next = hn::IndicesFromVec(d, hn::Min(hn::Add(hn::Iota(di, 0), hn::Set(di, 1)), last));
    const auto moved = hn::FirstN(d, static_cast<size_t>(kToeplitzLanes - 1));
#pragma GCC unroll 16
    for (int i = kColumns - 2; i >= 0; --i) {
      call.sums[kColumns - 2 - i] = hn::GetLane(diagonals);
      diagonals =
          hn::Add(hn::IfThenElseZero(moved, hn::TableLookupLanes(diagonals, next)), hn::IfThenElseZero(inside, acc[i]));
    }
  }
  hn::StoreU(diagonals, d, call.sums + kColumns - 1);
}

// ---- the list ------------------------------------------------------------------------------------------------------

template <int kColumns, int kRows>
void FillToeplitz(ToeplitzKernels* kernels) {
  kernels->products[kColumns] = &ToeplitzProduct<kColumns, kRows>;
  kernels->sums[kColumns] = &ToeplitzSums<kColumns>;
  kernels->most_columns = HWY_MAX(kernels->most_columns, kColumns);
  if constexpr (kColumns > 1) FillToeplitz<kColumns - 1, kRows>(kernels);
}

inline const ToeplitzKernels& ToeplitzOfTarget() {
  static const struct Table {
    ToeplitzKernels kernels{};
    Table() {
      constexpr int kLanes = static_cast<int>(kToeplitzLanes);
      kernels.lanes = kLanes;
#define CANOPY_TOEPLITZ(registers, columns, rows) \
  if constexpr (registers == CANOPY_VECTOR_REGISTERS) FillToeplitz<HWY_MIN(columns, kLanes), rows>(&kernels);
#include "kernels/toeplitz/kernels.inc"
#undef CANOPY_TOEPLITZ
    }
  } table;
  return table.kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_TOEPLITZ_BODY_INL_H_
