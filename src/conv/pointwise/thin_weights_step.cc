// SPDX-License-Identifier: Apache-2.0
#include "conv/pointwise/thin_weights_step.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/packing/scratch.h"
#include "conv/pointwise/unfolded.h"
#include "exec/pool.h"

namespace canopy::conv::pointwise {
namespace {

using base::CeilDiv;

constexpr int64_t kPiecePixels = 2048;      // of rows: 24 KiB of three in the L1
constexpr int64_t kLeastPlane = 256;        // of smaller ones the last vector's copy is too much
constexpr int64_t kMostSums = 64 << 10;     // 256 KiB of the L2
constexpr int64_t kLeastSegmentPieces = 4;  // adding up partial sums costs little beside
constexpr int64_t kMostSegments = 64;

// In units of Step::Work.
constexpr double kEfficiency = 0.9;  // of products whose operands are in the cache
constexpr double kWorkALine = 6;     // of the larger tensor, from memory
constexpr double kWorkACall = 100;

int64_t Few(const Geometry& g) { return std::min(g.group_input_channels(), g.group_output_channels()); }
int64_t Many(const Geometry& g) { return std::max(g.group_input_channels(), g.group_output_channels()); }

}  // namespace

bool ThinWeightsStep::Serves(const ConvProblem& problem) {
  const kernels::DotsKernels& dots = kernels::Dots();
  const Geometry& g = problem.geometry;
  const bool plain = problem.input.dtype == numerics::DType::kFloat32 &&
                     problem.output.dtype == numerics::DType::kFloat32 &&
                     problem.rule.input_rounding == numerics::InputRounding::kNone;
  const int64_t few = Few(g), plane = g.output_size[0] * g.output_size[1] * g.output_size[2];
  return plain && !packing::HasStride(g) && plane >= kLeastPlane && few > 0 && few <= kernels::kMostDotsRows &&
         dots.most_columns[few] > 0 && few * Many(g) * dots.lanes <= kMostSums;
}

ThinWeightsStep::ThinWeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger)
    : lanes_(kernels::Dots().lanes) {
  const Geometry& g = problem.geometry;
  outputs_are_rows_ = g.group_output_channels() < g.group_input_channels();
  rows_ = Few(g);
  columns_ = Many(g);
  block_ = kernels::Dots().most_columns[rows_];
  const int64_t plane = g.output_size[0] * g.output_size[1] * g.output_size[2];
  pieces_ = {g.batch, plane, kPiecePixels, lanes_};
  segments_ = std::clamp<int64_t>(pieces_.count() / kLeastSegmentPieces, 1, kMostSegments);
  const double pixels = static_cast<double>(g.batch * plane), vectors = pixels / static_cast<double>(lanes_);
  const double rows = static_cast<double>(rows_), columns = static_cast<double>(columns_);
  const double calls = static_cast<double>(pieces_.count()) * static_cast<double>(CeilDiv(columns_, block_));
  // A tail is a vector and a call more.
  work_ = static_cast<double>(g.groups) *
          ((vectors + static_cast<double>(pieces_.images)) * columns * (rows / kEfficiency + kWorkALine) +
           (calls + static_cast<double>(pieces_.images) * columns) * kWorkACall);
  partial_handle_ = ledger->Book("partial weight gradients",
                                 g.groups * segments_ * rows_ * columns_ * static_cast<int64_t>(sizeof(float)));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

ThinWeightsStep::Scratch ThinWeightsStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  Scratch scratch;
  scratch.sums = carver.Take<float>(rows_ * columns_ * lanes_);
  scratch.rows = carver.Take<float>(rows_ * lanes_);
  scratch.tails = carver.Take<float>(columns_ * lanes_);
  scratch.offsets = carver.Take<int64_t>(columns_);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string ThinWeightsStep::Describe() const {
  return "dot products of " + std::to_string(rows_) + (outputs_are_rows_ ? " output" : " input") + " by " +
         std::to_string(block_) + " other channels, pieces of " + std::to_string(pieces_.pixels) + " pixels, " +
         std::to_string(segments_) + " segments";
}

}  // namespace canopy::conv::pointwise
