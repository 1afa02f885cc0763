// SPDX-License-Identifier: Apache-2.0
#include "conv/joint_planes/passes.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/work.h"

namespace canopy::conv::joint_planes {
namespace {

// In vector multiply-adds at the peak rate, measured.
constexpr double kLoadWork = 1.2, kStoreWork = 2;
constexpr double kPartWork = 2;  // of a pass, so that the fewest of equals are taken
constexpr double kAddWork = 4;   // of a pass that adds to another's results
constexpr double kPairAddWork = 6;

// Of an unaligned load: a vector of a line comes from two. Of two halves of a line but one does.
double StraddlingWork() { return WholeVectors() ? 2.4 : 1.5; }

double WorkOf(const sheets::PassSize& size, int64_t rows, int64_t columns) {
  double work = 0;
  for (int64_t r = 0; r < rows; r += size.rows) {
    for (int64_t s = 0; s < columns; s += size.columns) {
      work += kPartWork + VectorWork(std::min(size.rows, rows - r), std::min(size.columns, columns - s), r + s == 0,
                                     kernels::kJointBoth);
    }
  }
  return work;
}

}  // namespace

bool GoApart(int64_t rows, int64_t columns, kernels::JointResults what) {
  return what == kernels::kJointBoth && kernels::JointPlanes().kernels[what][rows][columns] == nullptr;
}

kernels::JointFn KernelOf(const kernels::JointKernels& kernels, Kind kind, kernels::JointResults what,
                          const sheets::Pass& pass) {
  switch (kind) {
    case Kind::kPlain:
      return kernels.kernels[what][pass.rows][pass.columns];
    case Kind::kRolling:
      return kernels.rolling[what][pass.rows];
    case Kind::kPairs:
      return kernels.pairs[what][pass.rows][pass.column_residue == 0];
    case Kind::kNarrow:
      return kernels.narrow[what];
    case Kind::kFolded:
      return kernels.folded[what][pass.rows];
    case Kind::kDoubled:
      return kernels.doubled[what][pass.rows];
  }
  return nullptr;
}

std::vector<sheets::Pass> ListPasses(const sheets::Reach& rows, const sheets::Reach& columns) {
  return sheets::ListPasses(rows, columns, kernels::JointPlanes().most_columns, WorkOf);
}

int64_t BlocksOf(int64_t positions, const sheets::Pass& pass, kernels::JointResults what) {
  if (GoApart(pass.rows, pass.columns, what)) {
    return BlocksOf(positions, pass, kernels::kJointData) + BlocksOf(positions, pass, kernels::kJointWeights);
  }
  return base::CeilDiv(positions, kernels::JointPlanes().at_once[what][pass.rows][pass.columns]);
}

double VectorWork(int64_t rows, int64_t columns, bool first, kernels::JointResults what) {
  if (GoApart(rows, columns, what)) {
    return VectorWork(rows, columns, first, kernels::kJointData) +
           VectorWork(rows, columns, true, kernels::kJointWeights);
  }
  const int results = what == kernels::kJointBoth ? 2 : 1;
  const double at_once = kernels::JointPlanes().at_once[what][rows][columns];
  const double lines = (static_cast<double>(rows) + at_once - 1) / at_once;
  const bool shifts = kernels::JointPlanes().shifts && columns >= kernels::kFewestShiftedColumns;
  const double gradients = lines * (shifts ? 2 * kLoadWork : StraddlingWork() * static_cast<double>(columns));
  const double loads = gradients + StraddlingWork() + (first ? 0 : kLoadWork) + kStoreWork;
  return std::max(static_cast<double>(rows * columns * results), loads) + (first ? 0 : kAddWork);
}

double PairWork(int64_t rows, bool first, int results) {
  const double move = 10 + 6 * results;  // two vectors each are read or written, parted or put together
  return static_cast<double>(rows) * std::max(3.0 * results, 2 * StraddlingWork()) + move + (first ? 0 : kPairAddWork);
}

double RollingWork(const sheets::Pass& pass, int results, bool rounds) {
  return static_cast<double>(pass.rows * pass.columns * results + 1 + (rounds ? 7 : 0));
}

double FoldedWork(const sheets::Pass& pass, int results, bool converts) {
  const int64_t products = pass.columns * 3 * (pass.rows + 1), moves = pass.columns * 9 - 4;
  return static_cast<double>(products * results + moves + (converts ? 30 : 0));
}

double DoubledWork(const sheets::Pass& pass, int results) {
  if (pass.rows == 3) return 1.5 + 11.5 * results;  // two of three parts wait for memory
  return 21.0 * results;
}

std::vector<sheets::Pass> ListPairPasses(const sheets::Reach& rows, const sheets::Reach& columns) {
  std::vector<sheets::Pass> passes;
  if (columns.residues.size() != 2 || columns.residues[0].offsets + columns.residues[1].offsets != 3) return passes;
  for (size_t i = 0; i < rows.residues.size(); ++i) {
    const int64_t offsets = rows.residues[i].offsets;
    if (offsets == 0 || offsets > kernels::kMostJointPairRows) return {};
    if (kernels::JointPlanes().pairs[kernels::kJointWeights][offsets][0] == nullptr) return {};
    sheets::Pass pass;
    pass.row_residue = static_cast<int64_t>(i);
    pass.column_residue = columns.residues[0].kernel == 0 ? 0 : 1;  // that of two kernel columns
    pass.rows = offsets;
    pass.columns = 3;
    pass.first = pass.last = true;
    passes.push_back(pass);
  }
  return passes;
}

}  // namespace canopy::conv::joint_planes
