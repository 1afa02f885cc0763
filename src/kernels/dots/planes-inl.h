// SPDX-License-Identifier: Apache-2.0
// The kernels over any arithmetic, to be included inside a namespace and under the compiler options of an instruction
// set. `Math` has kRegisters (1: there are no vectors to run out of), Element, V, kLanes of sums and kVectorElements of
// what is multiplied, Zero, Load of elements, LoadSums and StoreSums, Add, MulAdd, and AddTerms, which adds a vector's
// terms to a sum; where kMasks is true, the mask First of so many elements of a vector, and LoadMasked, too.

// Few sums would wait for one another: each is kept several times then, where registers are left.
template <class Math>
constexpr int DotsAtOnce(int sums, bool sums_rows) {
  if (sums_rows && Math::kRegisters < 32) return 1;
  return sums >= 8 ? 1 : sums >= 4 ? 2 : 4;
}

// Whether the registers hold the rows' sums, too; without vectors there is nothing to run out of.
template <class Math>
constexpr bool DotsCanSumRows(int rows, int columns) {
  return Math::kRegisters == 1 || rows * columns + 2 * rows + 1 <= Math::kRegisters;
}

template <class Math, int kRows, int kColumns, bool kSumsRows>
void DotPlanes(const DotsCallOf<typename Math::Element>& call) {
  using V = typename Math::V;
  using Element = typename Math::Element;
  constexpr int kAtOnce = DotsAtOnce<Math>(kRows * kColumns, kSumsRows);
  V acc[kAtOnce][kRows][kColumns];
#pragma GCC unroll 4
  for (int u = 0; u < kAtOnce; ++u) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) acc[u][r][c] = Math::Zero();
    }
  }
  V row_sums[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) row_sums[r] = Math::Zero();
  const int64_t a_row = call.a_row, ahead_step = call.ahead_step[0], ahead_too_step = call.ahead_step[1];
  const int64_t end = call.vectors * Math::kVectorElements;
  const auto add_line = [&](int64_t line, auto ends) {
    const char* ahead = call.ahead[0] + line * call.ahead_line[0];
    const char* ahead_too = call.ahead[1] + line * call.ahead_line[1];
    const Element *const a_line = call.a + line * call.a_line, *columns[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) columns[c] = call.b + line * call.b_line + call.b_offsets[c];
    [[maybe_unused]] const auto present = Math::First(decltype(ends)::value ? call.rest : 0);
    const auto add = [&](V(&to)[kRows][kColumns], int64_t at, auto masked) {
      Ask(ahead);
      Ask(ahead_too);
      ahead += ahead_step;
      ahead_too += ahead_too_step;
      V a[kRows];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        if constexpr (decltype(masked)::value) {
          a[r] = Math::LoadMasked(present, a_line + r * a_row + at);
        } else {
          a[r] = Math::Load(a_line + r * a_row + at);
        }
        if constexpr (kSumsRows) row_sums[r] = Math::AddTerms(a[r], row_sums[r]);
      }
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) {
        const V b = Math::Load(columns[c] + at);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // or GCC loads it again for each row
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) to[r][c] = Math::MulAdd(a[r], b, to[r][c]);
      }
    };
    int64_t at = 0;
    for (; at + kAtOnce * Math::kVectorElements <= end; at += kAtOnce * Math::kVectorElements) {
#pragma GCC unroll 4
      for (int u = 0; u < kAtOnce; ++u) add(acc[u], at + u * Math::kVectorElements, std::false_type());
    }
    if constexpr (kAtOnce > 1) {
      for (; at < end; at += Math::kVectorElements) add(acc[0], at, std::false_type());
    }
    if constexpr (decltype(ends)::value) add(acc[0], at, std::true_type());
  };
  // Two loops: what ends a line takes registers.
  if (!Math::kMasks || call.rest == 0) {
    for (int64_t line = 0; line < call.lines; ++line) add_line(line, std::false_type());
  } else {
    for (int64_t line = 0; line < call.lines; ++line) add_line(line, std::bool_constant<Math::kMasks>());
  }
  const bool first = call.first;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    float* to = call.sums + r * call.sums_row;
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c, to += Math::kLanes) {
      V sum = acc[0][r][c];
#pragma GCC unroll 4
      for (int u = 1; u < kAtOnce; ++u) sum = Math::Add(sum, acc[u][r][c]);
      Math::StoreSums(first ? sum : Math::Add(Math::LoadSums(to), sum), to);
    }
    if constexpr (kSumsRows) {
      float* sum_to = call.row_sums + r * call.row_sums_row;
      Math::StoreSums(first ? row_sums[r] : Math::Add(Math::LoadSums(sum_to), row_sums[r]), sum_to);
    }
  }
}

// ---- the list ------------------------------------------------------------------------------------------------------

template <class Math, int kRows, int kColumns>
void FillDots(DotsKernelsOf<typename Math::Element>* kernels) {
  kernels->dots[kRows][kColumns] = &DotPlanes<Math, kRows, kColumns, false>;
  kernels->most_columns[kRows] = std::max(kernels->most_columns[kRows], kColumns);
  if constexpr (DotsCanSumRows<Math>(kRows, kColumns)) {
    kernels->summing[kRows][kColumns] = &DotPlanes<Math, kRows, kColumns, true>;
    kernels->most_summing_columns[kRows] = std::max(kernels->most_summing_columns[kRows], kColumns);
  }
  if constexpr (kColumns > 1) FillDots<Math, kRows, kColumns - 1>(kernels);
}

template <class Math>
DotsKernelsOf<typename Math::Element> ListDots() {
  DotsKernelsOf<typename Math::Element> kernels{};
  kernels.lanes = Math::kLanes;
  kernels.masks = Math::kMasks;
#define CANOPY_DOTS(registers, rows, columns) \
  if constexpr (registers == Math::kRegisters) FillDots<Math, rows, columns>(&kernels);
#include "kernels/dots/kernels.inc"
#undef CANOPY_DOTS
  return kernels;
}
