// SPDX-License-Identifier: Apache-2.0
#include "conv/pointwise/data_step.h"

#include <algorithm>
#include <numeric>

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
constexpr int64_t kSmallPlane = 1024;  // pieces of less would leave much over
constexpr int64_t kJobsAThread = 6;    // shares out evenly
constexpr int64_t kMostPackedBytes = int64_t{6} << 20;

// In units of Step::Work.
constexpr double kEfficiency = 0.96;       // of the tiles, operands in the L2
constexpr double kWorkAPackedWeight = 1;   // transposing one element
constexpr double kWorkAPackedPixel = 0.5;  // copying one element
constexpr double kWorkAConvertedElem = 1;  // converting or storing one element
constexpr double kWorkASpreadElem = 0.7;   // storing one element of a result with a stride
constexpr double kWorkATileVector = 2;     // adding to one vector of a result
constexpr double kWorkATileCall = 60;

}  // namespace

DataStep::DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : forward_(computation == kForward),
      strided_(HasStride(problem.geometry)),
      weight_(problem, computation == kForward) {
  const Geometry& g = problem.geometry;
  source_ = Flat(forward_ ? problem.input : problem.output);
  result_ = strided_ ? problem.input_result : Flat(forward_ ? problem.output_result : problem.input_result);
  source_channels_ = forward_ ? g.group_input_channels() : g.group_output_channels();
  result_channels_ = forward_ ? g.group_output_channels() : g.group_input_channels();
  result_row_ = g.input_size[2];
  direct_ = !strided_ && result_.dtype == numerics::DType::kFloat32 && !problem.has_bias;
  const kernels::GatherTilesList list = kernels::AllGatherTiles();
  tiles_ = list.tiles;
  vectors_ = std::min(2, list.count);
  const int64_t chunks = std::max<int64_t>(1, CeilDiv(source_channels_, kMostChunk));
  chunk_ = std::max<int64_t>(1, CeilDiv(source_channels_, chunks));
  panel_ = lanes() * std::clamp<int64_t>(kPixelFloats / (chunk_ * lanes()), 1, kMostTiles);
  block_ = std::max<int64_t>(1, CeilDiv(result_channels_, std::max<int64_t>(1, CeilDiv(result_channels_, kMostBlock))));
  blocks_ = CeilDiv(result_channels_, block_);
  CutPixels(g);
  const int64_t weight_bytes = g.groups * result_channels_ * source_channels_ * static_cast<int64_t>(sizeof(float));
  if (pieces_.count() > 1 && weight_bytes <= kMostPackedBytes) {
    weights_handle_ = ledger->Book("packed weights", weight_bytes);
  }
  work_ = Estimate(g);
  // Smaller pieces where the threads would wait for one another. Their size changes no bit, and the work that
  // algorithms are compared by must not depend on the threads.
  while (exec::ThreadCount() > 1 && pieces_.pixels > std::max(kLeastPixels, pieces_.multiple) &&
         g.groups * blocks_ * pieces_.count() < kJobsAThread * exec::ThreadCount()) {
    pieces_ = {pieces_.images, pieces_.plane, pieces_.pixels / 2, pieces_.multiple};
  }
  ScratchAt(nullptr, &scratch_bytes_);
  scratch_handle_ = ledger->Book("scratch of " + std::to_string(exec::ThreadCount()) + " threads",
                                 scratch_bytes_ * exec::ThreadCount());
}

void DataStep::CutPixels(const Geometry& g) {
  plane_ = g.output_size[0] * g.output_size[1] * g.output_size[2];
  const int64_t vector = tiles_[0].lanes, most = std::max(kLeastPixels, kResultFloats / block_);
  int64_t multiple = lanes();
  if (strided_) {  // whole rows, in whole vectors where that is not too many
    const int64_t row = std::max<int64_t>(1, g.output_size[2]), both = std::lcm(row, vector);
    multiple = both <= most ? both : row;
  }
  const bool in_one_row = strided_ || plane_ < kSmallPlane || plane_ % vector != 0;
  pieces_ = in_one_row ? Pieces(1, g.batch * plane_, most, multiple) : Pieces(g.batch, plane_, most, multiple);
}

double DataStep::Estimate(const Geometry& g) const {
  const int64_t vector = tiles_[0].lanes;
  const int64_t last = pieces_.plane - std::max<int64_t>(0, pieces_.a_plane - 1) * pieces_.pixels;
  const double lanes = static_cast<double>(
      pieces_.images *
      (std::max<int64_t>(0, pieces_.a_plane - 1) * RoundUp(pieces_.pixels, vector) + RoundUp(last, vector)));
  const double blocks = static_cast<double>(blocks_), rows = static_cast<double>(block_), vectors = lanes / 16;
  const double sources = static_cast<double>(source_channels_);
  const double chunks = static_cast<double>(CeilDiv(source_channels_, chunk_));
  const double packings = weights_handle_ >= 0 ? 1 : static_cast<double>(pieces_.count());
  const double tiles = lanes / static_cast<double>(this->lanes()) * static_cast<double>(CeilDiv(block_, this->rows()));
  const bool plain = source_.dtype == numerics::DType::kFloat32;
  const double elements = static_cast<double>(g.batch * g.input_size[1] * g.input_size[2]);
  const double stored = strided_  ? rows * elements * kWorkASpreadElem
                        : direct_ ? 0
                                  : rows * lanes * kWorkAConvertedElem;
  return static_cast<double>(g.groups) * blocks *
         (rows * sources * vectors / kEfficiency + packings * rows * sources * kWorkAPackedWeight +
          lanes * sources * (plain ? kWorkAPackedPixel : kWorkAConvertedElem) +
          rows * vectors * chunks * kWorkATileVector + tiles * chunks * kWorkATileCall + stored);
}

DataScratch DataStep::ScratchAt(char* at, int64_t* bytes) const {
  channel_lanes::Carver carver(at);
  DataScratch scratch;
  const bool packed = weights_handle_ >= 0;
  scratch.weights = carver.Take<float>(packed ? 0 : block_ * chunk_);
  scratch.pixels = carver.Take<float>(panel_ * chunk_);
  scratch.results = carver.Take<float>(piece_lanes() * block_);
  scratch.line = carver.Take<float>(strided_ ? result_row_ + kernels::kLineSlack : 0);
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
         "x" + std::to_string(lanes()) + (weights_handle_ >= 0 ? ", weights packed once" : "");
}

}  // namespace canopy::conv::pointwise
