// SPDX-License-Identifier: Apache-2.0
// Products of planes: sums over pixels of what some planes have at a pixel times what others have at a constant shift
// from it, for weight gradients. Lanes are neighbouring pixels.
#ifndef CANOPY_KERNELS_DOTS_CONTRACT_H_
#define CANOPY_KERNELS_DOTS_CONTRACT_H_

#include <cstdint>

namespace canopy::kernels {

// Every element below is a vector of `lanes` floats but for the arguments, which are in floats:
//   sums[r*sums_row + c*lanes] += sum over 0 <= l < lines, 0 <= v < vectors of
//       a[r*a_row + l*a_line + v*lanes] * b[b_offsets[c] + l*b_line + v*lanes],
//   0 <= r < the kernel's rows, 0 <= c < its columns.
// Kernels that sum rows, too, do it with b = 1 for row_sums[r*row_sums_row].
// Kernels keep a fixed number of sums of each element, by l and v, with one fused multiply-add a term where the
// instruction set has it, and add them in a fixed order. Any alignment, though vectors that straddle cache lines cost
// twice.
struct DotsCall {
  const float* a;
  int64_t a_row;
  const float* b;
  const int64_t* b_offsets;
  int64_t vectors;
  float* sums;
  int64_t sums_row;
  bool first = false;  // sums are not read: they are 0
  float* row_sums = nullptr;
  int64_t row_sums_row = 0;
  int64_t lines = 1, a_line = 0, b_line = 0;
  // Brought to the cache meanwhile: two lines of memory a vector, those of each kind ahead_step bytes apart, from line
  // to line ahead_line bytes. A hint: any address will do.
  const char* ahead[2] = {};
  int64_t ahead_step[2] = {}, ahead_line[2] = {};
};
using DotsFn = void (*)(const DotsCall& call);

inline constexpr int kMostDotsRows = 4;
inline constexpr int kMostDotsColumns = 8;

struct DotsKernels {
  int lanes;

  // By rows and columns, nullptr where the registers do not hold so many sums.
  DotsFn dots[kMostDotsRows + 1][kMostDotsColumns + 1];
  int most_columns[kMostDotsRows + 1];  // by rows; 0: no kernels of so many

  // Those that sum rows, too.
  DotsFn summing[kMostDotsRows + 1][kMostDotsColumns + 1];
  int most_summing_columns[kMostDotsRows + 1];

  int most_rows() const {
    int rows = kMostDotsRows;
    while (most_columns[rows] == 0) --rows;
    return rows;
  }

  // sums[i] = the sum of the lanes of vector i, 0 <= i < count, by a fixed tree.
  void (*reduce)(const float* vectors, int64_t count, float* sums);
};

// The kernels for the best instruction set that this processor has.
const DotsKernels& Dots();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_DOTS_CONTRACT_H_
