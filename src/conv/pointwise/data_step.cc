// SPDX-License-Identifier: Apache-2.0
#include "conv/pointwise/data_step.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/channel_lanes/scratch.h"
#include "exec/pool.h"

namespace canopy::conv::pointwise {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kMostChunk = 256;          // of one tile call: FP32 sums stay short
constexpr int64_t kMostBlock = 256;          // with kMostChunk: 256 KiB of packed weights
constexpr int64_t kResultFloats = 80 << 10;  // results of a job: 320 KiB of a 1 MiB L2
constexpr int64_t kPixelFloats = 16 << 10;   // of a panel: 64 KiB of a 1 MiB L2
constexpr int64_t kMostTiles = 4;            // side by side
constexpr int64_t kLeastPixels = 96;
constexpr int64_t kJobsAThread = 6;  // shares out evenly

// In units of Step::Work.
constexpr double kEfficiency = 0.96;       // of the tiles, operands in the L2
constexpr double kWorkAPackedWeight = 1;   // transposing one element
constexpr double kWorkAPackedPixel = 0.5;  // copying one element
constexpr double kWorkAConvertedElem = 1;  // converting or storing one element
constexpr double kWorkATileVector = 2;     // adding to one vector of a result
constexpr double kWorkATileCall = 60;

}  // namespace

DataStep::DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : forward_(computation == kForward), weight_(problem, computation == kForward) {
  const Geometry& g = problem.geometry;
  source_ = Flat(forward_ ? problem.input : problem.output);
  result_ = Flat(forward_ ? problem.output_result : problem.input_result);
  source_channels_ = forward_ ? g.group_input_channels() : g.group_output_channels();
  result_channels_ = forward_ ? g.group_output_channels() : g.group_input_channels();
  direct_ = result_.dtype == numerics::DType::kFloat32 && !problem.has_bias;
  const kernels::GatherTilesList list = kernels::AllGatherTiles();
  tiles_ = list.tiles;
  vectors_ = std::min(2, list.count);
  const int64_t chunks = std::max<int64_t>(1, CeilDiv(source_channels_, kMostChunk));
  chunk_ = std::max<int64_t>(1, CeilDiv(source_channels_, chunks));
  panel_ = lanes() * std::clamp<int64_t>(kPixelFloats / (chunk_ * lanes()), 1, kMostTiles);
  block_ = std::max<int64_t>(1, CeilDiv(result_channels_, std::max<int64_t>(1, CeilDiv(result_channels_, kMostBlock))));
  blocks_ = CeilDiv(result_channels_, block_);
  const int64_t plane = g.input_size[0] * g.input_size[1] * g.input_size[2];
  pieces_ = {g.batch, plane, std::max(kLeastPixels, kResultFloats / block_), lanes()};
  const double jobs = static_cast<double>(g.groups * blocks_ * pieces_.count());
  const double panels = static_cast<double>(CeilDiv(pieces_.pixels, lanes())),
               panel_lanes = static_cast<double>(lanes());
  const double rows = static_cast<double>(block_), sources = static_cast<double>(source_channels_);
  const double vectors = panels * panel_lanes / 16;
  const bool plain = source_.dtype == numerics::DType::kFloat32;
  work_ = jobs * (rows * sources * vectors / kEfficiency + rows * sources * kWorkAPackedWeight +
                  panels * panel_lanes * sources * (plain ? kWorkAPackedPixel : kWorkAConvertedElem) +
                  rows * vectors * static_cast<double>(chunks) * kWorkATileVector +
                  (direct_ ? 0 : rows * panels * panel_lanes * kWorkAConvertedElem) +
                  panels * static_cast<double>(CeilDiv(block_, this->rows()) * chunks) * kWorkATileCall);
  // Smaller pieces where the threads would wait for one another. Their size changes no bit, and the work that
  // algorithms are compared by must not depend on the threads.
  while (exec::ThreadCount() > 1 && pieces_.pixels > kLeastPixels &&
         g.groups * blocks_ * pieces_.count() < kJobsAThread * exec::ThreadCount()) {
    pieces_ = {g.batch, plane, pieces_.pixels / 2, lanes()};
  }
  ScratchAt(nullptr, &scratch_bytes_);
  scratch_handle_ = ledger->Book("scratch of " + std::to_string(exec::ThreadCount()) + " threads",
                                 scratch_bytes_ * exec::ThreadCount());
}

DataScratch DataStep::ScratchAt(char* at, int64_t* bytes) const {
  channel_lanes::Carver carver(at);
  DataScratch scratch;
  // Results written where they belong need room for the last panel of a plane only.
  const int64_t panels = direct_ ? 1 : CeilDiv(pieces_.pixels, panel_);
  scratch.weights = carver.Take<float>(RoundUp(block_, rows()) * chunk_);
  scratch.pixels = carver.Take<float>(panel_ * chunk_);
  scratch.results = carver.Take<float>(panels * block_ * panel_);
  scratch.lines.lines = carver.Take<float>(channel_lanes::kLines * (channel_lanes::kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(channel_lanes::kLine);
  scratch.weight_offsets = carver.Take<int64_t>(chunk_);
  scratch.result_offsets = carver.Take<int64_t>(kernels::GatherTiles::kMostRows);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string DataStep::Describe() const {
  return "pieces of " + std::to_string(pieces_.pixels) + " pixels, blocks of " + std::to_string(block_) +
         " result channels, chunks of " + std::to_string(chunk_) + " source channels, tile " + std::to_string(rows()) +
         "x" + std::to_string(lanes());
}

}  // namespace canopy::conv::pointwise
