// SPDX-License-Identifier: Apache-2.0
#include "conv/shifted_slab/activation_step.h"

#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "conv/implicit_gemm/blocking.h"
#include "exec/pool.h"

namespace canopy::conv::shifted_slab {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kTerms = 288;             // of one tile call: FP32 sums stay short
constexpr int64_t kTileFloats = 128 << 10;  // result tiles of a job: half a 1 MiB L2
constexpr int64_t kSlabFloats = 48 << 10;   // a slab: a fifth of it
constexpr int64_t kMostPositions = 1024;
constexpr int64_t kLeastPositions = 96;
constexpr int64_t kMostBlockChannels = 512;
constexpr int64_t kEnoughJobs = 16;
constexpr double kWorkASlabElem = 1;   // fetching one element
constexpr double kWorkATileStore = 8;  // terms that storing a result costs as much as

}  // namespace

ActivationStep::ActivationStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : forward_(computation == kForward) {
  const Geometry& g = problem.geometry;
  source_ = forward_ ? problem.input : problem.output;
  result_ = forward_ ? problem.output_result : problem.input_result;
  source_size_ = forward_ ? g.input_size : g.output_size;
  result_size_ = forward_ ? g.output_size : g.input_size;
  source_channels_ = forward_ ? g.group_input_channels() : g.group_output_channels();
  result_channels_ = forward_ ? g.group_output_channels() : g.group_input_channels();
  weight_result_stride_ = problem.weight.strides[forward_ ? 0 : 1];
  weight_source_stride_ = problem.weight.strides[forward_ ? 1 : 0];
  MakePhases(g);
  CutPhases(g);
  LayOut(g, ledger);
}

void ActivationStep::MakePhases(const Geometry& g) {
  for (int axis = 0; axis < 3; ++axis) {
    bool gaps = false;
    axis_phases_[axis] = forward_ ? ForwardPhases(g, axis) : BackwardDataPhases(g, axis, &gaps);
    gaps_ = gaps_ || gaps;
  }
  for (const AxisPhase& d : axis_phases_[0]) {
    for (const AxisPhase& h : axis_phases_[1]) {
      for (const AxisPhase& w : axis_phases_[2]) {
        if (d.walk * h.walk * w.walk == 0) continue;
        PhaseShape phase;
        phase.axes = {&d, &h, &w};
        phase.taps = {AxisTaps(d), AxisTaps(h), AxisTaps(w)};
        phases_.push_back(std::move(phase));
      }
    }
  }
}

// Large jobs read the packed weights seldom; small ones share out evenly.
void ActivationStep::CutPhases(const Geometry& g) {
  const int64_t block_channels = std::min(result_channels_, kMostBlockChannels);
  int64_t most = std::clamp(kTileFloats / block_channels, kLeastPositions, kMostPositions);
  for (;; most /= 2) {
    int64_t jobs = 0, positions = 0;
    for (PhaseShape& phase : phases_) {
      phase.Cut(g.batch, source_size_, most);
      jobs += phase.jobs() * g.groups;
      positions = std::max(positions, phase.positions);
    }
    double cost = 0;
    tile_ = implicit_gemm::ChooseTile(block_channels, positions, &cost);
    if (jobs >= kEnoughJobs || most <= kLeastPositions) break;
  }
  row_panels_ = CeilDiv(result_channels_, tile_.rows);
  row_blocks_ = CeilDiv(row_panels_ * tile_.rows, kMostBlockChannels);
  block_panels_ = CeilDiv(row_panels_, row_blocks_);
  row_blocks_ = CeilDiv(row_panels_, block_panels_);
}

// Of all the jobs of one position set.
double ActivationStep::JobWork(const PhaseShape& phase) const {
  const double channels = static_cast<double>(source_channels_);
  const double tiles = static_cast<double>(RoundUp(phase.positions, tile_.lanes)) *
                       static_cast<double>(row_panels_ * tile_.rows) / (16 * tile_.efficiency);
  const double slab = static_cast<double>(phase.channel_elems * row_blocks_) * kWorkASlabElem;
  return tiles * (channels * static_cast<double>(phase.tap_count()) + kWorkATileStore) + channels * slab;
}

void ActivationStep::LayOut(const Geometry& g, plan::WorkspaceLedger* ledger) {
  int64_t most_taps = 1, most_elems = 1, most_positions = 1, most_line = 1;
  for (PhaseShape& phase : phases_) {
    // Reading goes on to the end of the last tile; an odd number of cache lines from channel to channel keeps channels
    // apart in the L1's sets.
    phase.plane_elems = RoundUp(phase.plane_elems + tile_.lanes, 16);
    phase.channel_elems = RoundUp(phase.planes * phase.plane_elems, 32) + 16;
    most_taps = std::max(most_taps, phase.tap_count());
    most_elems = std::max(most_elems, phase.channel_elems);
    most_positions = std::max(most_positions, phase.positions);
    most_line = std::max(most_line, phase.taps[2].Extent(phase.columns));
  }
  chunk_ = std::clamp<int64_t>(std::min(kTerms / most_taps, kSlabFloats / most_elems), 1,
                               std::max<int64_t>(1, source_channels_));
  chunk_ = CeilDiv(source_channels_, CeilDiv(source_channels_, chunk_));
  const int64_t floats = static_cast<int64_t>(sizeof(float));
  for (PhaseShape& phase : phases_) {
    phase.packed_offset = packed_floats_;
    packed_floats_ += row_panels_ * tile_.rows * phase.tap_count() * source_channels_;
    phase.first_job = jobs_;
    jobs_ += phase.jobs() * row_blocks_;
    work_ += static_cast<double>(g.groups) * static_cast<double>(phase.jobs()) * JobWork(phase);
  }
  const base::Checked packed_bytes = base::Checked(g.groups) * packed_floats_ * floats;
  packed_handle_ = ledger->Book("packed weights", packed_bytes.ok() ? packed_bytes.value() : -1);
  flag_handle_ = ledger->Book("non-finite weights", sizeof(std::atomic<int>));
  const int64_t align = plan::WorkspaceLedger::kAlignment, slack = kernels::kLineSlack;
  slab_bytes_ = RoundUp((chunk_ * most_elems + slack) * floats, align);
  tiles_bytes_ =
      RoundUp(CeilDiv(most_positions, tile_.lanes) * block_panels_ * tile_.rows * tile_.lanes * floats, align);
  line_bytes_ = RoundUp((std::max(chunk_, most_line) + 2 * slack) * floats, align);
  segments_bytes_ = RoundUp(tile_.lanes * static_cast<int64_t>(sizeof(kernels::Segment)), align);
  taps_bytes_ = RoundUp(most_taps * static_cast<int64_t>(sizeof(kernels::GemmTap)), align);
  scratch_handle_ = ledger->Book(
      "scratch of " + std::to_string(exec::ThreadCount()) + " threads",
      (slab_bytes_ + tiles_bytes_ + 4 * line_bytes_ + segments_bytes_ + taps_bytes_) * exec::ThreadCount());
}

ActivationScratch ActivationStep::ScratchAt(const plan::WorkspaceLedger& ledger, void* workspace, int worker) const {
  const int64_t total = slab_bytes_ + tiles_bytes_ + 4 * line_bytes_ + segments_bytes_ + taps_bytes_;
  char* at = static_cast<char*>(ledger.Fetch(workspace, scratch_handle_)) + worker * total;
  const auto take = [&at](int64_t bytes) {
    char* here = at;
    at += bytes;
    return reinterpret_cast<float*>(here);
  };
  ActivationScratch scratch;
  scratch.slab = take(slab_bytes_);
  scratch.tiles = take(tiles_bytes_);
  for (float*& line : scratch.lines) line = take(line_bytes_);
  scratch.segments = reinterpret_cast<kernels::Segment*>(take(segments_bytes_));
  scratch.taps = reinterpret_cast<kernels::GemmTap*>(take(taps_bytes_));
  return scratch;
}

std::string ActivationStep::Describe() const {
  const PhaseShape* first = phases_.empty() ? nullptr : &phases_[0];
  return "tile " + std::to_string(tile_.rows) + "x" + std::to_string(tile_.lanes) + ", " +
         std::to_string(phases_.size()) + " phases, " + std::to_string(jobs_) + " jobs a group, slabs of " +
         std::to_string(chunk_) + " channels by " +
         (first == nullptr ? "0"
                           : std::to_string(first->images) + " images, " + std::to_string(first->rows) + " rows, " +
                                 std::to_string(first->columns) + " columns");
}

}  // namespace canopy::conv::shifted_slab
