// SPDX-License-Identifier: Apache-2.0
// Kernels of a depthwise convolution take so many offsets at once as their taps and sums fit the registers; larger
// ones, and each pair of residues of a stride, take passes of their own.
#ifndef CANOPY_CONV_SHEETS_PASSES_H_
#define CANOPY_CONV_SHEETS_PASSES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "conv/sheets/reach.h"

namespace canopy::conv::sheets {

// Kernel offsets of one residue of rows and one of columns that are taken at once.
struct Pass {
  int64_t row_residue = 0, column_residue = 0;
  int64_t row = 0, rows = 0, column = 0, columns = 0;  // kernel offsets of the residues
  bool first = false, last = false;                    // of its residues
};

// Kernel offsets of a pass, at most.
struct PassSize {
  int64_t rows = 1, columns = 1;
};

// Every kernel offset is in one of them. There are kernels for r rows of up to most_columns[r] columns (0: for none).
// Of the sizes with kernels for all parts, `cost` chooses: what `rows` x `columns` offsets cost in parts of the size.
std::vector<Pass> ListPasses(const Reach& rows, const Reach& columns, std::span<const int> most_columns,
                             double (*cost)(const PassSize& size, int64_t rows, int64_t columns));

}  // namespace canopy::conv::sheets

#endif  // CANOPY_CONV_SHEETS_PASSES_H_
