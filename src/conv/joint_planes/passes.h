// SPDX-License-Identifier: Apache-2.0
// Which kernels pass over planes, and what a vector of a pass costs.
#ifndef CANOPY_CONV_JOINT_PLANES_PASSES_H_
#define CANOPY_CONV_JOINT_PLANES_PASSES_H_

#include <cstdint>
#include <vector>

#include "conv/sheets/passes.h"
#include "kernels/joint_planes/contract.h"

namespace canopy::conv::joint_planes {

// What passes over planes: a list of kernels/joint_planes/contract.h.
enum class Kind { kPlain, kRolling, kPairs, kNarrow, kFolded, kDoubled };

// Whether kernels read the output's gradient where it stands, without zeros around it: they look for its edges and
// round it themselves.
constexpr bool FindsEdges(Kind kind) { return kind != Kind::kPlain && kind != Kind::kPairs; }
// Whether a call may be run in parts: what others know of edges holds for the whole of one.
constexpr bool GoesInParts(Kind kind) { return !FindsEdges(kind) || kind == Kind::kRolling; }
// Whether one pass takes all of a kernel's rows and columns.
constexpr bool TakesWholeKernels(Kind kind) {
  return kind == Kind::kRolling || kind == Kind::kDoubled || kind == Kind::kFolded;
}
// Whether even and odd columns are taken together.
constexpr bool TakesPairs(Kind kind) { return kind == Kind::kPairs || kind == Kind::kDoubled; }

// The form whose kernels give data alone: what they multiply is rounded in its sheet, unless they find the edges.
constexpr kernels::convert::Form DataForm(Kind kind, kernels::convert::Form form) {
  const bool rounded = !FindsEdges(kind) && kernels::convert::TypeOf(form) == numerics::DType::kFloat32;
  return rounded ? kernels::convert::Form::kFloat32 : form;
}

// nullptr where there is none.
kernels::JointFn KernelOf(const kernels::JointKernels& kernels, Kind kind, kernels::JointResults what,
                          const sheets::Pass& pass);

// Every kernel offset is in one of them.
std::vector<sheets::Pass> ListPasses(const sheets::Reach& rows, const sheets::Reach& columns);

// One pass over each residue of rows, for kernels of pairs; empty where there are none.
std::vector<sheets::Pass> ListPairPasses(const sheets::Reach& rows, const sheets::Reach& columns);

// Whether a pass over FP32 numbers gives two gradients one after the other.
bool GoApart(int64_t rows, int64_t columns, kernels::JointResults what);

// How many blocks of rows kernels take at once, of a pass over the rows of positions.
int64_t BlocksOf(int64_t positions, const sheets::Pass& pass, kernels::JointResults what);

// Time of one vector of a pass, in the units of Step::Work.
double VectorWork(int64_t rows, int64_t columns, bool first, kernels::JointResults what);

// Likewise of an even and an odd vector of a pass over pairs; `results`: of the input's and the weights' gradients how
// many it gives.
double PairWork(int64_t rows, bool first, int results);

// Likewise of a vector of columns of both parities, in two rows.
double DoubledWork(const sheets::Pass& pass, int results);

// Likewise of a plane of a folded kernel's pass.
double FoldedWork(const sheets::Pass& pass, int results, bool converts);

// Likewise of a vector of a rolling kernel's pass.
double RollingWork(const sheets::Pass& pass, int results, bool rounds);

}  // namespace canopy::conv::joint_planes

#endif  // CANOPY_CONV_JOINT_PLANES_PASSES_H_
