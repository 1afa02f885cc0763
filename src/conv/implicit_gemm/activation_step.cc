// SPDX-License-Identifier: Apache-2.0
#include "conv/implicit_gemm/activation_step.h"

#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "conv/work.h"

namespace canopy::conv::implicit_gemm {
namespace {

constexpr int64_t kWorkATileStore = 8;      // terms that storing a result costs as much as
constexpr int64_t kShortTileStore = 40;     // likewise of short vectors
constexpr double kWorkAPackedElem = 1.4;    // gathering one element into a panel
constexpr double kEfficiency = 0.85;        // of the tiles, their operands come from the L2
constexpr double kWorkAPackedWeight = 8;    // packing one
constexpr double kWorkAProduct = 500;       // of a phase of a group
constexpr double kWorkASegment = 60;        // starting a stretch of neighbours
constexpr double kWorkAConvertedStore = 3;  // more, of a result
constexpr double kWorkAGap = 10;            // filling one result that no tap reaches, with its neighbours
constexpr double kWorkAStride = 4;          // an element that has no neighbour beside it

}  // namespace

ActivationStep::ActivationStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : product_(problem, computation) {
  for (const PhaseTriple& phase : product_.phases) phases_.push_back({phase});
  ChooseSides();
  LayOut(problem.geometry, ledger);
}

// Lanes are pixels unless channels lie side by side in both tensors and pixels do not.
void ActivationStep::ChooseSides() {
  const Operand &source = product_.source, &result = product_.result;
  const bool source_pixels = source.strides[4] == 1 || product_.source_channels == 1;
  channel_lines_ = source.strides[1] == 1 && !source_pixels;
  pixels_are_lanes_ = !(channel_lines_ && result.strides[1] == 1);
}

void ActivationStep::LayOut(const Geometry& g, plan::WorkspaceLedger* ledger) {
  int64_t most_pixels = 0, most_depth = 0;
  for (const PackedPhase& phase : phases_) {
    most_pixels = std::max(most_pixels, phase.pixels);
    most_depth = std::max(most_depth, phase.taps * product_.source_channels);
  }
  const int64_t rows = pixels_are_lanes_ ? product_.result_channels : most_pixels;
  const int64_t lanes = pixels_are_lanes_ ? most_pixels : product_.result_channels;
  double tile_cost = 0;
  tile_ = ChooseTile(rows, lanes, &tile_cost);
  const int64_t products = g.groups * static_cast<int64_t>(phases_.size());
  blocking_ = ChooseBlocking(tile_, rows, lanes, most_depth, products);
  const int64_t channel_width = pixels_are_lanes_ ? tile_.rows : tile_.lanes;
  const int64_t pixel_width = pixels_are_lanes_ ? tile_.lanes : tile_.rows;
  const int64_t pixel_block = pixel_width * (pixels_are_lanes_ ? blocking_.lane_panels : blocking_.row_panels);
  channel_panels_ = base::CeilDiv(product_.result_channels, channel_width);
  channel_blocks_ = base::CeilDiv(channel_panels_, pixels_are_lanes_ ? blocking_.row_panels : blocking_.lane_panels);
  for (PackedPhase& phase : phases_) {
    const int64_t depth = phase.taps * product_.source_channels;
    phase.packed_offset = packed_floats_;
    packed_floats_ += channel_panels_ * depth * channel_width;
    phase.pixel_blocks = base::CeilDiv(phase.pixels, pixel_block);
    phase.first_job = jobs_;
    jobs_ += phase.pixel_blocks * channel_blocks_;
    const double tiles = static_cast<double>(phase.pixels) * static_cast<double>(channel_panels_ * channel_width) /
                         (16 * tile_.efficiency * kEfficiency) *
                         static_cast<double>(depth + (ShortVectors() ? kShortTileStore : kWorkATileStore));
    const AxisPhase& row = *phase.axes[2];
    const bool apart = row.source_step * product_.source.strides[4] != 1 && !channel_lines_;
    const double elem = kWorkAPackedElem + (apart ? kWorkAStride : 0) +
                        kWorkASegment / static_cast<double>(channel_lines_ ? product_.source_channels : row.walk);
    const double packing = static_cast<double>(phase.pixels * channel_blocks_) * static_cast<double>(depth) * elem;
    const double converted = product_.result.dtype == numerics::DType::kFloat32 ? 0 : kWorkAConvertedStore;
    work_ +=
        static_cast<double>(g.groups) *
        (tiles + packing + static_cast<double>(phase.pixels * product_.result_channels) * converted + kWorkAProduct);
  }
  if (product_.gaps) {
    const Extent3& size = product_.result_size;
    work_ += static_cast<double>(g.batch * g.groups * product_.result_channels) *
             static_cast<double>(size[0] * size[1] * size[2]) * kWorkAGap;
  }
  work_ += static_cast<double>(g.groups * packed_floats_) * kWorkAPackedWeight;
  const base::Checked packed_bytes = base::Checked(g.groups) * packed_floats_ * static_cast<int64_t>(sizeof(float));
  packed_handle_ = ledger->Book("packed weights", packed_bytes.ok() ? packed_bytes.value() : -1);
  flag_handle_ = ledger->Book("non-finite weights", sizeof(std::atomic<int>));
  scratch_ = ScratchLayout(tile_, blocking_, !pixels_are_lanes_, most_depth > kBlocksASum * blocking_.depth, ledger);
}

std::string ActivationStep::Describe() const {
  return DescribeBlocking(tile_, blocking_) + ", lanes are " + (pixels_are_lanes_ ? "pixels" : "channels") + ", " +
         std::to_string(phases_.size()) + " phases, " + std::to_string(jobs_) + " jobs a group";
}

}  // namespace canopy::conv::implicit_gemm
