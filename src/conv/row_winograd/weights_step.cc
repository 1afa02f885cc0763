// SPDX-License-Identifier: Apache-2.0
#include "conv/row_winograd/weights_step.h"

#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "conv/packing/dot_tiles.h"
#include "conv/packing/row_panels.h"
#include "conv/packing/scratch.h"
#include "conv/row_winograd/estimates.h"
#include "conv/streams.h"
#include "conv/work.h"
#include "exec/pool.h"
#include "kernels/row_points/contract.h"
#include "kernels/streams.h"

namespace canopy::conv::row_winograd {
namespace {

using base::CeilDiv;
using base::RoundUp;
using kernels::kWinogradLanes;
using kernels::kWinogradPoints;

constexpr int64_t kSumFloats = 96 << 10;   // of a job: 384 KiB, of which a tile is in use at a time
constexpr int64_t kNearFloats = 10 << 10;  // of outputs and windows: most of an L1
constexpr int64_t kLeastPositions = 160;   // where that leaves fewer, they lie in the L2
constexpr int64_t kMostPositions = 512;
constexpr int64_t kEnoughJobs = 32;
constexpr int64_t kMostLines = 128;  // of a part: terms of its sums

// In units of Step::Work.
constexpr double kWorkAnOutputVector = 32;  // a tile's rows to the points
constexpr double kWorkAWindowRead = 4;      // of a vector, from the L2
constexpr double kWorkASlowRead = 6;        // more where windows crowd a point's others out and the L3 is slow
constexpr int64_t kNearWindows = 8 << 10;   // floats of a point's that do not
constexpr double kWorkASum = 5;             // of a tile, which is added to memory
constexpr double kWorkAReducedSum = 8;
constexpr double kQuickProductWork = 0.8;   // of a multiply-add, where two vectors of 16 are multiplied a cycle
constexpr double kShortProductWork = 0.65;  // likewise of short vectors, of which half straddle lines
constexpr int64_t kManyChannels = 12;       // and tiles are not so small that these wait for their sums
constexpr double kOverhead = 1.1;

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : bias_((computation & kBiasFromOutput) != 0), direct_(problem, computation, ledger) {
  const Geometry& g = problem.geometry;
  sources_ = g.group_input_channels() * g.kernel[0];
  outputs_ = g.group_output_channels();
  taps_ = static_cast<int>(g.kernel[1]);
  tile_ = kWinogradPoints + 1 - taps_;
  depths_ = AxisShifts(g, 0, true);
  rows_ = AxisShifts(g, 1, true);
  columns_ = AxisShifts(g, 2, true);
  lines_ = Lines(g.batch, g.output_size, g.input_size[2], tile_, columns_);
  Cut(problem);
  const int64_t floats = static_cast<int64_t>(sizeof(float));
  partial_handle_ = ledger->Book("partial sums", parts_ * g.groups * blocks() * block_sums() * floats);
  found_handle_ = ledger->Book("flag", static_cast<int64_t>(sizeof(std::atomic<int>)));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
  work_ = CountWork(problem);
}

int64_t WeightsStep::point_sums() const { return RoundUp(block_ * columns(), kWinogradLanes); }
int64_t WeightsStep::block_sums() const { return kWinogradPoints * point_sums() + (bias_ ? block_ : 0); }

void WeightsStep::Cut(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  lanes_ = kernels::Dots().lanes;
  rows_at_once_ = kernels::Dots().most_rows();
  block_ = base::PartSize(outputs_, kSumFloats / (kWinogradPoints * columns() * lanes_));
  panel_ = std::min(block_, rows_at_once_);
  const int64_t near = kNearFloats / (kWinogradPoints * (panel_ + sources_));
  lines_.Cut(near >= kLeastPositions ? near : kMostPositions);
  // Whole vectors are written from the last pixels on, and read from the last positions on.
  output_floats_ = LineFloats(lines_.MostFloats() + kWinogradLanes);
  window_floats_ = LineFloats(lines_.left() + lines_.MostFloats() + lines_.right() + kWinogradLanes);
  const int64_t lines = lines_.count();
  parts_ = std::clamp<int64_t>(std::max(kEnoughJobs / (g.groups * blocks()), CeilDiv(lines, kMostLines)), 1, lines);
  parts_ = CeilDiv(lines, CeilDiv(lines, parts_));
  ListTiles(problem, block_, &tiles_);
  ListTiles(problem, OutputsOf(blocks() - 1), &last_tiles_);
}

void WeightsStep::ListTiles(const ConvProblem& problem, int64_t outputs, std::vector<Tile>* list) const {
  const packing::RowPanels panels(outputs, rows_at_once_);
  for (int64_t p = 0; p < panels.count(); ++p) {
    for (int64_t point = 0; point < kWinogradPoints; ++point) {
      const packing::DotTiles tiles(kernels::Dots(), panels.rows(p), columns(), false);
      for (int64_t t = 0; t < tiles.count(); ++t) {
        list->push_back({point, panels.first(p), tiles.first(t), tiles.kernel(t), {}});
      }
    }
  }
  const int64_t count = std::ssize(*list), vectors = CeilDiv(lines_.MostPositions(), lanes_);
  const auto ask = [&](const Operand& operand, int64_t channels, int64_t tile) {
    const int64_t channel = tile * channels / count, first = CeilDiv(channel * count, channels);
    const int64_t parts = std::max<int64_t>(1, CeilDiv((channel + 1) * count, channels) - first);
    const int64_t element = numerics::ElementBytes(operand.dtype);
    const int64_t bytes = lines_.MostSegments() * tile_ * operand.strides[3] * element / parts;
    return Tile::Ask{channel * operand.strides[1] * element + (tile - first) * bytes,
                     std::max(kernels::kMemoryLine, bytes / vectors + 1)};
  };
  for (int64_t tile = 0; tile < count; ++tile) {
    Tile& asking = (*list)[static_cast<size_t>(tile)];
    asking.asks[0] = ask(problem.output, outputs, tile);
    asking.asks[1] = ask(problem.input, problem.geometry.group_input_channels(), tile);
  }
}

double WeightsStep::CountWork(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const auto vectors = [&](int64_t floats) { return static_cast<double>(CeilDiv(floats, int64_t{kWinogradLanes})); };
  const bool far = OutgrowsCaches(problem, kBackwardWeights);
  const double memory = far ? static_cast<double>(tile_) * kWorkAFarVector : 0;
  const double segments = static_cast<double>(lines_.segments()), lines = static_cast<double>(lines_.count());
  const double sources = static_cast<double>(sources_ * blocks()), outputs = static_cast<double>(outputs_);
  const double window = kWorkAWindowVector + memory + ConversionWork(problem, problem.input, kWinogradPoints);
  const double output = kWorkAnOutputVector + memory + ConversionWork(problem, problem.output, tile_);
  double work = segments * (sources * (vectors(g.input_size[2]) * window + kWorkASegment) +
                            outputs * (vectors(g.output_size[2]) * output + kWorkASegment));
  const double line_vectors = static_cast<double>(CeilDiv(lines_.MostPositions(), lanes_));
  const bool near = kWinogradPoints * (panel_ + sources_) * lines_.MostPositions() <= kNearFloats;
  const bool slow = L3IsSlow() && sources_ * lines_.MostPositions() > kNearWindows;
  const double read = ((near ? 0 : kWorkAWindowRead) + (slow ? kWorkASlowRead : 0)) * static_cast<double>(sources_);
  const bool quick = WholeVectors() && !L3IsSlow();
  const bool many = std::min(sources_, outputs_) >= kManyChannels;
  const double product = ShortVectors() ? kShortProductWork : quick && many ? kQuickProductWork : kProductWork;
  for (int64_t block = 0; block < blocks(); ++block) {
    const packing::RowPanels panels(OutputsOf(block), rows_at_once_);
    for (int64_t p = 0; p < panels.count(); ++p) {
      const packing::DotTiles dots(kernels::Dots(), panels.rows(p), columns(), false);
      const double tiles = static_cast<double>(dots.count()), rows = static_cast<double>(panels.rows(p));
      const double sums = rows * static_cast<double>(columns());
      // Two loads are two multiply-adds' time; those of windows mostly straddle lines, and count twice.
      const double loads = tiles * rows + 2 * static_cast<double>(columns());
      work += lines * kWinogradPoints *
              (static_cast<double>(lanes_) / kWorkLanes * line_vectors *
                   (product * std::max({sums, loads, 8 * tiles}) + read) +
               kWorkATile * tiles + kWorkASum * sums);
    }
  }
  work += static_cast<double>(parts_ * blocks() * kWinogradPoints * point_sums()) * kWorkAReducedSum;
  return kOverhead * work * static_cast<double>(g.groups) + kWorkARun;
}

WeightsScratch WeightsStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  WeightsScratch scratch;
  scratch.zeros = carver.Take<float>(std::max(lines_.columns(), lines_.source_columns()));
  scratch.rows =
      carver.Take<float>(lines_.MostRows(kWinogradPoints) * std::max(lines_.columns(), lines_.source_columns()));
  scratch.outputs = carver.Take<float>(kWinogradPoints * panel_ * output_floats_);
  scratch.windows = carver.Take<float>(kWinogradPoints * sources_ * window_floats_);
  scratch.sums = carver.Take<float>(kWinogradPoints * block_ * columns() * lanes_);
  scratch.biases = carver.Take<float>(block_ * kWinogradLanes);
  scratch.offsets = carver.Take<int64_t>(columns());
  scratch.segments = carver.Take<SegmentRun>(lines_.most_runs());
  scratch.cleared = carver.Take<int>(1);
  scratch.kernels = carver.Take<float>(taps_ * point_sums());
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string WeightsStep::Describe() const {
  return "tiles of " + std::to_string(tile_) + " rows, " + std::to_string(lines_.count()) + " lines of " +
         std::to_string(lines_.MostPositions()) + " positions in " + std::to_string(parts_) + " parts, blocks of " +
         std::to_string(block_) + " of " + std::to_string(outputs_) + " output channels";
}

}  // namespace canopy::conv::row_winograd
