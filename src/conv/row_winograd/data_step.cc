// SPDX-License-Identifier: Apache-2.0
#include "conv/row_winograd/data_step.h"

#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "conv/packing/row_panels.h"
#include "conv/packing/scratch.h"
#include "conv/row_winograd/estimates.h"
#include "conv/streams.h"
#include "conv/work.h"
#include "exec/pool.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::row_winograd {
namespace {

using base::CeilDiv;
using base::RoundUp;
using kernels::kWinogradLanes;
using kernels::kWinogradPoints;

constexpr int64_t kMostChunk = 8;   // sources: sums stay short
constexpr int64_t kMostApart = 64;  // with kernel columns apart
constexpr int64_t kLeastApart = 8;
constexpr int64_t kNearFloats = 7 << 10;  // of windows and results: most of an L1
constexpr int64_t kLeastPositions = 100;  // where that leaves fewer, they lie in the L2
constexpr int64_t kMostPositions = 240;
constexpr int64_t kEnoughJobs = 32;

// In units of Step::Work.
constexpr double kWorkAResultVector = 34;   // and back
constexpr double kWorkAnAskedVector = 3;    // where it is asked for row by row
constexpr double kWorkALoad = 0.1;          // low tiles read windows more often
constexpr double kWorkAStoredVector = 1.5;  // of its results
constexpr double kWorkAWeight = 3;
constexpr double kWorkAShiftedVector = 4;  // storing what is apart, and adding it up
constexpr double kWorkAWindow = 26;        // one that is made where it is multiplied
constexpr double kWorkAWait = 56;          // at least, with its products, for its rows
constexpr double kApartWork = 1.1;
constexpr double kShortApartWork = 1.75;  // with short vectors: windows do not stay in registers
constexpr double kOverhead = 1.05;
constexpr int64_t kRoundedRows = 8;  // converted: as long take the 14 that pairs of points round anew, beside products

}  // namespace

DataStep::DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : forward_(computation == kForward), direct_(problem, computation, ledger) {
  const Geometry& g = problem.geometry;
  source_ = forward_ ? problem.input : problem.output;
  result_ = forward_ ? problem.output_result : problem.input_result;
  source_size_ = forward_ ? g.input_size : g.output_size;
  result_size_ = forward_ ? g.output_size : g.input_size;
  source_channels_ = forward_ ? g.group_input_channels() : g.group_output_channels();
  result_channels_ = forward_ ? g.group_output_channels() : g.group_input_channels();
  sources_ = source_channels_ * g.kernel[0];
  kernel_offsets_ = g.taps();
  taps_ = static_cast<int>(g.kernel[1]);
  tile_ = kWinogradPoints + 1 - taps_;
  depths_ = AxisShifts(g, 0, forward_);
  rows_ = AxisShifts(g, 1, forward_);
  columns_ = AxisShifts(g, 2, forward_);
  lines_ = Lines(g.batch, result_size_, source_size_[2], tile_, columns_);
  tiles_ = kernels::AllGatherTiles();
  apart_ = result_channels_ * columns_.count() <= kernels::AllRowProducts().most_rows && InRegisters(problem);
  product_rows_ = result_channels_ * (apart_ ? columns_.count() : 1);
  Cut(g.groups);
  const int64_t floats = static_cast<int64_t>(sizeof(float));
  packed_handle_ = ledger->Book("packed weights", g.groups * kWinogradPoints * group_weights() * floats);
  found_handle_ = ledger->Book("flag", static_cast<int64_t>(sizeof(std::atomic<int>)));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
  work_ = CountWork(problem);
}

int64_t DataStep::group_weights() const { return RoundUp(result_channels_ * weights(), kWinogradLanes); }

// Whether windows may be made in registers, of sources enough to be worth it.
bool DataStep::InRegisters(const ConvProblem& problem) const {
  return sources_ >= kLeastApart &&
         kernels::convert::FormRead(source_.dtype, problem.rule) != kernels::convert::Form::kOther;
}

void DataStep::Cut(int64_t groups) {
  chunk_ = base::PartSize(sources_, apart_ ? kMostApart : kMostChunk);
  const int64_t near = kNearFloats / (kWinogradPoints * (apart_ ? product_rows_ : chunk_ + product_rows_));
  lines_.Cut(near >= kLeastPositions ? near : kMostPositions);
  const int64_t lines = lines_.count();
  job_lines_ = std::clamp<int64_t>(lines * groups / kEnoughJobs, 1, std::max<int64_t>(1, lines));
  vectors_ = tiles_.count;
  for (int vectors = vectors_ - 1; vectors > 0; --vectors) {
    if (TileWork(vectors) < TileWork(vectors_)) vectors_ = vectors;
  }
  // Whole vectors are written from the last pixels on, and read from the last positions on.
  window_floats_ = LineFloats(lines_.left() + lines_.MostFloats() + lines_.right() + kWinogradLanes);
  result_floats_ = apart_ ? window_floats_ : LineFloats(lines_.MostFloats());
}

// Per vector of positions and term, for tiles of so many vectors.
double DataStep::TileWork(int vectors) const {
  const packing::RowPanels panels(product_rows_, tiles_.tiles[vectors - 1].most_rows);
  const double height = static_cast<double>(panels.rows(0)), width = vectors;
  // Two loads are two multiply-adds' time; those of windows mostly straddle lines, and count twice.
  const double loads = height + 2 * width;
  return static_cast<double>(panels.count()) * (std::max(kProductWork * height * width, loads) + kWorkALoad * loads) /
         width;
}

// Of all points of a line, with the windows.
double DataStep::LineWork() const {
  const double chunks = static_cast<double>(CeilDiv(sources_, chunk_)), rows = static_cast<double>(product_rows_);
  const double lanes = static_cast<double>(tiles_.vector_lanes) / kWorkLanes;
  const int64_t vectors = CeilDiv(lines_.MostPositions(), int64_t{tiles_.vector_lanes});
  if (apart_) {
    const double source = std::max(kWinogradPoints * rows + kWorkAWindow, kWorkAWait);
    return lanes * static_cast<double>(vectors) * (ShortVectors() ? kShortApartWork : kApartWork) *
           (source * static_cast<double>(sources_) + chunks * kWinogradPoints * rows * kWorkAShiftedVector);
  }
  const packing::RowPanels panels(product_rows_, tiles_.tiles[vectors_ - 1].most_rows);
  const double blocks = static_cast<double>(CeilDiv(vectors, int64_t{vectors_}) * panels.count());
  return kWinogradPoints *
         (lanes * static_cast<double>(vectors) *
              (TileWork(vectors_) * static_cast<double>(weights()) + chunks * rows * kWorkAStoredVector) +
          chunks * blocks * kWorkATile);
}

double DataStep::CountWork(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const auto vectors = [&](int64_t floats) { return static_cast<double>(CeilDiv(floats, int64_t{kWinogradLanes})); };
  const bool far = OutgrowsCaches(problem, forward_ ? kForward : kBackwardData);
  const double memory = far ? static_cast<double>(tile_) * (apart_ ? kWorkAnAskedVector : kWorkAFarVector) : 0;
  const double segments = static_cast<double>(lines_.segments());
  const double sources = static_cast<double>(sources_), results = static_cast<double>(result_channels_);
  const bool rounds = problem.rule.input_rounding != numerics::InputRounding::kNone;
  const int64_t converted = apart_ && rounds ? kRoundedRows : kWinogradPoints;
  const double window = (apart_ ? 0 : kWorkAWindowVector) + memory + ConversionWork(problem, source_, converted);
  const double result = kWorkAResultVector + memory + ConversionWork(problem, result_, tile_);
  double work = segments * (sources * (vectors(source_size_[2]) * window + kWorkASegment) +
                            results * (vectors(result_size_[2]) * result + kWorkASegment));
  work += static_cast<double>(lines_.count()) * LineWork();
  work += results * static_cast<double>(weights() * taps_) * kWorkAWeight;
  return kOverhead * work * static_cast<double>(g.groups) + kWorkARun;
}

DataScratch DataStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  DataScratch scratch;
  scratch.zeros = carver.Take<float>(source_size_[2]);
  scratch.rows = carver.Take<float>(lines_.MostRows(kWinogradPoints) * std::max(source_size_[2], result_size_[2]));
  scratch.windows = carver.Take<float>(apart_ ? 0 : kWinogradPoints * chunk_ * window_floats_);
  scratch.results = carver.Take<float>(kWinogradPoints * product_rows_ * result_floats_);
  scratch.kernels = carver.Take<float>((forward_ ? source_channels_ : result_channels_) * kernel_offsets_);
  scratch.tile = carver.Take<float>(taps_ * group_weights());
  scratch.segments = carver.Take<SegmentRun>(lines_.most_runs());
  scratch.runs = carver.Take<kernels::GatherRun>(columns_.count());
  scratch.result_offsets = carver.Take<int64_t>(kernels::GatherTiles::kMostRows);
  scratch.sources = carver.Take<kernels::ProductSource>(apart_ ? chunk_ : 0);
  scratch.terms = carver.Take<int64_t>(columns_.count());
  scratch.cleared = carver.Take<int>(1);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string DataStep::Describe() const {
  return "tiles of " + std::to_string(tile_) + " rows, " + std::to_string(lines_.count()) + " lines of " +
         std::to_string(lines_.MostPositions()) + " positions, chunks of " + std::to_string(chunk_) + " of " +
         std::to_string(sources_) + " sources" + (apart_ ? ", kernel columns apart" : "");
}

}  // namespace canopy::conv::row_winograd
