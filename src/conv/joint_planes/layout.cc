// SPDX-License-Identifier: Apache-2.0
#include "conv/joint_planes/layout.h"

#include <algorithm>
#include <limits>

#include "base/checked_math.h"
#include "kernels/joint_planes/contract.h"

namespace canopy::conv::joint_planes {
namespace {

// In vector multiply-adds at the peak rate, measured.
constexpr double kLoadWork = 1.2, kStraddlingWork = 2.4, kStoreWork = 2;
constexpr double kPartWork = 2;  // of a pass, so that the fewest of equals are taken
constexpr double kAddWork = 4;   // of a pass that adds to another's results

// How kernel offsets of one pair of residues are cut.
struct Cut {
  int64_t rows = 1, columns = 1;  // at most, of a part
};

double WorkOf(const Cut& cut, int64_t rows, int64_t columns) {
  double work = 0;
  for (int64_t r = 0; r < rows; r += cut.rows) {
    for (int64_t s = 0; s < columns; s += cut.columns) {
      work += kPartWork + VectorWork(std::min(cut.rows, rows - r), std::min(cut.columns, columns - s), r + s == 0, 2);
    }
  }
  return work;
}

Cut CutOf(int64_t rows, int64_t columns) {
  const kernels::JointKernels& kernels = kernels::JointPlanes();
  Cut best;
  double least = std::numeric_limits<double>::max();
  for (int64_t r = 1; r <= std::min<int64_t>(rows, kernels::kMostJointRows); ++r) {
    if (kernels.most_columns[r] == 0) continue;
    const int64_t row_parts = base::CeilDiv(rows, r);
    const int64_t column_parts = base::CeilDiv(columns, int64_t{kernels.most_columns[r]});
    const Cut cut{r, base::CeilDiv(columns, column_parts)};
    // Rows left over must have a kernel too.
    if (kernels.most_columns[rows - (row_parts - 1) * r] < cut.columns) continue;
    const double work = WorkOf(cut, rows, columns);
    if (work >= least) continue;
    least = work;
    best = cut;
  }
  return best;
}

}  // namespace

Reach::Reach(const Geometry& g, int axis) : residues(planes::ResiduesOf(g, axis)), outputs(g.output_size[axis]) {
  before = after = std::numeric_limits<int64_t>::min();
  for (const planes::Residue& residue : residues) {
    positions = std::max(positions, residue.input);
    if (residue.offsets == 0) continue;
    before = std::max(before, residue.first + residue.offsets - 1);
    after = std::max(after, -residue.first);
  }
}

int64_t Reach::Pitch() const {
  return std::max({positions, positions + after, Existing() + std::max<int64_t>(0, before)});
}

double VectorWork(int64_t rows, int64_t columns, bool first, int results) {
  const double at_once = kernels::JointPlanes().at_once[rows][columns];
  const double gradients = static_cast<double>(columns) * (static_cast<double>(rows) + at_once - 1) / at_once;
  const double loads = kStraddlingWork * (gradients + 1) + (first ? 0 : kLoadWork) + kStoreWork;
  return std::max(static_cast<double>(rows * columns * results), loads) + (first ? 0 : kAddWork);
}

double PairWork(int64_t rows, int results) {
  const double move = 10 + 6 * results;  // two vectors each are read or written, parted or put together
  return static_cast<double>(rows) * std::max(3.0 * results, 2 * kStraddlingWork) + move;
}

std::vector<Pass> ListPairPasses(const Reach& rows, const Reach& columns) {
  std::vector<Pass> passes;
  if (columns.residues.size() != 2 || columns.residues[0].offsets + columns.residues[1].offsets != 3) return passes;
  for (size_t i = 0; i < rows.residues.size(); ++i) {
    const int64_t offsets = rows.residues[i].offsets;
    if (offsets == 0 || offsets > kernels::kMostJointPairRows) return {};
    if (kernels::JointPlanes().pairs[kernels::kJointBoth][offsets][0] == nullptr) return {};
    Pass pass;
    pass.row_residue = static_cast<int64_t>(i);
    pass.column_residue = columns.residues[0].kernel == 0 ? 0 : 1;  // that of two kernel columns
    pass.rows = offsets;
    pass.columns = 3;
    pass.first = pass.last = true;
    passes.push_back(pass);
  }
  return passes;
}

std::vector<Pass> ListPasses(const Reach& rows, const Reach& columns) {
  std::vector<Pass> passes;
  for (size_t i = 0; i < rows.residues.size(); ++i) {
    for (size_t j = 0; j < columns.residues.size(); ++j) {
      const int64_t height = rows.residues[i].offsets, width = columns.residues[j].offsets;
      if (height * width == 0) continue;
      const Cut cut = CutOf(height, width);
      Pass pass;
      pass.row_residue = static_cast<int64_t>(i);
      pass.column_residue = static_cast<int64_t>(j);
      for (pass.row = 0; pass.row < height; pass.row += cut.rows) {
        pass.rows = std::min(cut.rows, height - pass.row);
        for (pass.column = 0; pass.column < width; pass.column += cut.columns) {
          pass.columns = std::min(cut.columns, width - pass.column);
          pass.first = pass.row + pass.column == 0;
          pass.last = pass.row + pass.rows == height && pass.column + pass.columns == width;
          passes.push_back(pass);
        }
      }
    }
  }
  return passes;
}

}  // namespace canopy::conv::joint_planes
