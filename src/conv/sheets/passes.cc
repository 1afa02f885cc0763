// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/passes.h"

#include <algorithm>
#include <limits>

#include "base/checked_math.h"

namespace canopy::conv::sheets {
namespace {

using Cost = double (*)(const PassSize& size, int64_t rows, int64_t columns);

// Parts of equal sizes, as far as they go.
PassSize BestSize(int64_t rows, int64_t columns, std::span<const int> most_columns, Cost cost) {
  PassSize best;
  double least = std::numeric_limits<double>::max();
  for (int64_t r = 1; r <= std::min<int64_t>(rows, std::ssize(most_columns) - 1); ++r) {
    const int64_t most = most_columns[static_cast<size_t>(r)];
    if (most == 0) continue;
    const PassSize size{r, base::PartSize(columns, most)};
    // Rows left over must have a kernel too.
    const int64_t left = rows - (base::CeilDiv(rows, r) - 1) * r;
    if (most_columns[static_cast<size_t>(left)] < size.columns) continue;
    const double work = cost(size, rows, columns);
    if (work >= least) continue;
    least = work;
    best = size;
  }
  return best;
}

}  // namespace

std::vector<Pass> ListPasses(const Reach& rows, const Reach& columns, std::span<const int> most_columns, Cost cost) {
  std::vector<Pass> passes;
  for (size_t i = 0; i < rows.residues.size(); ++i) {
    for (size_t j = 0; j < columns.residues.size(); ++j) {
      const int64_t height = rows.residues[i].offsets, width = columns.residues[j].offsets;
      if (height * width == 0) continue;
      const PassSize size = BestSize(height, width, most_columns, cost);
      Pass pass;
      pass.row_residue = static_cast<int64_t>(i);
      pass.column_residue = static_cast<int64_t>(j);
      for (pass.row = 0; pass.row < height; pass.row += size.rows) {
        pass.rows = std::min(size.rows, height - pass.row);
        for (pass.column = 0; pass.column < width; pass.column += size.columns) {
          pass.columns = std::min(size.columns, width - pass.column);
          pass.first = pass.row + pass.column == 0;
          pass.last = pass.row + pass.rows == height && pass.column + pass.columns == width;
          passes.push_back(pass);
        }
      }
    }
  }
  return passes;
}

}  // namespace canopy::conv::sheets
