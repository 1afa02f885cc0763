// SPDX-License-Identifier: Apache-2.0
#include "conv/pointwise/dot_weights_step.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/packing/cache_sets.h"
#include "conv/packing/scratch.h"
#include "conv/pointwise/unfolded.h"
#include "conv/streams.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::pointwise {
namespace {

using base::CeilDiv;

constexpr int64_t kPiecePixels = 2048;     // 24 KiB of three rows in the L1, for block after block of columns
constexpr int64_t kMostTerms = 256;        // of a lane, for tile after tile of rows: FP32 sums stay short
constexpr int64_t kRowFloats = 128 << 10;  // 512 KiB of an L2, for block after block of columns
constexpr int64_t kLeastTilePixels = 512;
constexpr int64_t kNearFloats = 160 << 10;    // of such rows and all sums: what an L2 keeps beside the columns
constexpr int64_t kNearestFloats = 12 << 10;  // a 48 KiB L1
constexpr int64_t kLeastPlane = 256;          // of smaller ones the last vector's copy is too much
constexpr int64_t kMostSums = 256 << 10;      // 1 MiB
// Of a segment: adding up its sums costs some hundredths of its products, or more where there would be few.
constexpr int64_t kSegmentPixels = 8 << 10, kLeastSegmentPixels = 2 << 10;
constexpr int64_t kEnoughSegments = 8, kMostSegments = 64;
constexpr int64_t kEnoughJobs = 8;

// In units of Step::Work.
constexpr double kEfficiency = 0.9;         // of products whose operands are in the cache
constexpr double kCrowdedEfficiency = 0.8;  // likewise, but some have to come again and again
constexpr double kSpilledEfficiency = 0.7;  // from an L2 that is slower than the products
constexpr double kWorkASum = 5;             // adding up one sum's lanes
constexpr double kWorkACall = 70;

// Reading a line from beyond the L2, and from memory.
struct LineWork {
  double near, far;
};
constexpr LineWork kLineWork = {3, 4},
                   kQuickLineWork = {5, 8};  // the latter beside two products of whole lines a cycle

int64_t Few(const Geometry& g) { return std::min(g.group_input_channels(), g.group_output_channels()); }
int64_t Many(const Geometry& g) { return std::max(g.group_input_channels(), g.group_output_channels()); }

}  // namespace

bool DotWeightsStep::Serves(const ConvProblem& problem) {
  const kernels::DotsKernels& dots = kernels::Dots();
  const Geometry& g = problem.geometry;
  const int64_t few = Few(g), plane = g.output_size[0] * g.output_size[1] * g.output_size[2];
  return problem.MultipliesPlain() && !packing::HasStride(g) && g.batch > 0 && plane >= kLeastPlane && few > 0 &&
         few * Many(g) * dots.lanes <= kMostSums;
}

DotWeightsStep::DotWeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger)
    : lanes_(kernels::Dots().lanes) {
  const Geometry& g = problem.geometry;
  outputs_are_rows_ = g.group_output_channels() < g.group_input_channels();
  rows_ = Few(g);
  columns_ = Many(g);
  const int64_t tiles = CeilDiv(rows_, kernels::Dots().most_rows());
  tile_ = CeilDiv(rows_, tiles);
  block_ = kernels::Dots().most_columns[tile_];
  const int64_t plane = g.output_size[0] * g.output_size[1] * g.output_size[2];
  const int64_t tile_pixels = std::clamp(kRowFloats / rows_, kLeastTilePixels, kMostTerms * lanes_);
  pieces_ = {g.batch, plane, tiles > 1 ? tile_pixels : kPiecePixels, lanes_};
  segments_ = std::min({pieces_.count(), g.batch * plane / kLeastSegmentPixels,
                        std::max(kEnoughSegments, g.batch * plane / kSegmentPixels)});
  segments_ = std::clamp<int64_t>(segments_, 1, kMostSegments);
  const int64_t blocks = CeilDiv(columns_, block_);
  parts_ = std::clamp<int64_t>(kEnoughJobs / (g.groups * segments_), 1, blocks);
  part_ = CeilDiv(blocks, parts_) * block_;
  parts_ = CeilDiv(columns_, part_);
  const double pixels = static_cast<double>(g.batch * plane), vectors = pixels / static_cast<double>(lanes_);
  const double rows = static_cast<double>(rows_), columns = static_cast<double>(columns_);
  const double calls = static_cast<double>(pieces_.count() * tiles * blocks);
  // A tail is a vector and a call more.
  const bool crowded =
      packing::CrowdASet(tile_ + 2 * block_, (outputs_are_rows_ ? problem.output : problem.input).strides[1]) ||
      (tiles > 1 && rows_ * (pieces_.pixels + columns_ * lanes_) > kNearFloats);
  const bool quick = WholeVectors();
  const bool spilled = quick && tiles > 1 && (tile_ + block_) * pieces_.pixels > kNearestFloats;
  const double efficiency = spilled ? kSpilledEfficiency : crowded ? kCrowdedEfficiency : kEfficiency;
  const LineWork& lines = quick ? kQuickLineWork : kLineWork;
  const double line = OutgrowsCaches(problem, kBackwardWeights) ? lines.far : lines.near;
  work_ = static_cast<double>(g.groups) *
          ((vectors + static_cast<double>(pieces_.images)) * (rows * columns / efficiency + line * (rows + columns)) +
           (calls + static_cast<double>(pieces_.images) * columns) * kWorkACall +
           static_cast<double>(segments_) * rows * columns * kWorkASum);
  partial_handle_ = ledger->Book("partial weight gradients",
                                 g.groups * segments_ * rows_ * columns_ * static_cast<int64_t>(sizeof(float)));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

DotWeightsStep::Scratch DotWeightsStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  Scratch scratch;
  scratch.sums = carver.Take<float>(rows_ * std::min(part_, columns_) * lanes_);
  scratch.rows = carver.Take<float>(rows_ * lanes_);
  scratch.tails = carver.Take<float>(columns_ * lanes_);
  scratch.offsets = carver.Take<int64_t>(columns_);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string DotWeightsStep::Describe() const {
  return "dot products of " + std::to_string(tile_) + " of " + std::to_string(rows_) +
         (outputs_are_rows_ ? " output" : " input") + " by " + std::to_string(block_) + " other channels, pieces of " +
         std::to_string(pieces_.pixels) + " pixels, " + std::to_string(segments_) + " segments";
}

}  // namespace canopy::conv::pointwise
