// SPDX-License-Identifier: Apache-2.0
// Products of planes: sums over pixels of what some planes have at a pixel times what others have at a constant shift
// from it, for weight gradients. Lanes are neighbouring pixels, or pairs of them.
#ifndef CANOPY_KERNELS_DOTS_CONTRACT_H_
#define CANOPY_KERNELS_DOTS_CONTRACT_H_

#include <cstdint>

namespace canopy::kernels {

// T is float, or uint16_t for the patterns of BF16 numbers. Every element below is a vector, of `lanes` floats or of as
// many pairs of BF16 numbers, but for the arguments, which are in elements of T, of sums in floats. With w elements of
// T in a vector:
//   sums[r*sums_row + c*lanes] += sum over 0 <= l < lines, 0 <= v < vectors of
//       a[r*a_row + l*a_line + v*w] * b[b_offsets[c] + l*b_line + v*w],
//   0 <= r < the kernel's rows, 0 <= c < its columns, where the product of pairs is the sum of both products.
// Kernels that have masks multiply `rest` < w more elements of each line, with zeros behind those of a.
// Kernels that sum rows, too, do it with b = 1 for row_sums[r*row_sums_row].
// Kernels keep a fixed number of sums of each element, by l and v, with one fused multiply-add a term where the
// instruction set has it, and add them in a fixed order. Any alignment, though vectors that straddle cache lines cost
// twice.
template <class T>
struct DotsCallOf {
  const T* a;
  int64_t a_row;
  const T* b;
  const int64_t* b_offsets;
  int64_t vectors;
  float* sums;
  int64_t sums_row;
  bool first = false;  // sums are not read: they are 0
  float* row_sums = nullptr;
  int64_t row_sums_row = 0;
  int64_t lines = 1, a_line = 0, b_line = 0;
  int64_t rest = 0;
  // Brought to the cache meanwhile: two lines of memory a vector, those of each kind ahead_step bytes apart, from line
  // to line ahead_line bytes. A hint: any address will do.
  const char* ahead[2] = {};
  int64_t ahead_step[2] = {}, ahead_line[2] = {};
};
template <class T>
using DotsFnOf = void (*)(const DotsCallOf<T>& call);

inline constexpr int kMostDotsRows = 4;
inline constexpr int kMostDotsColumns = 8;

template <class T>
struct DotsKernelsOf {
  int lanes;  // of sums; 0: there are no kernels
  bool masks;

  // By rows and columns, nullptr where the registers do not hold so many sums.
  DotsFnOf<T> dots[kMostDotsRows + 1][kMostDotsColumns + 1];
  int most_columns[kMostDotsRows + 1];  // by rows; 0: no kernels of so many

  // Those that sum rows, too.
  DotsFnOf<T> summing[kMostDotsRows + 1][kMostDotsColumns + 1];
  int most_summing_columns[kMostDotsRows + 1];

  int most_rows() const {
    int rows = kMostDotsRows;
    while (most_columns[rows] == 0) --rows;
    return rows;
  }
};

struct DotsKernels : DotsKernelsOf<float> {
  // sums[i] = the sum of the lanes of vector i, 0 <= i < count, by a fixed tree.
  void (*reduce)(const float* vectors, int64_t count, float* sums);
};

using DotsCall = DotsCallOf<float>;
using DotsFn = DotsFnOf<float>;

// The kernels for the best instruction set that this processor has.
const DotsKernels& Dots();

// Those of BF16 numbers, by the processor's dot products, whose sums have as many lanes; without kernels where it has
// none.
const DotsKernelsOf<uint16_t>& PairDots();

// Those of the above that multiply such elements.
template <class T>
const DotsKernelsOf<T>& DotsOf();
template <>
inline const DotsKernelsOf<float>& DotsOf<float>() {
  return Dots();
}
template <>
inline const DotsKernelsOf<uint16_t>& DotsOf<uint16_t>() {
  return PairDots();
}

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_DOTS_CONTRACT_H_
