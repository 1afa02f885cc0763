// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <new>

#include "conv/few_tiles/asks.h"
#include "conv/few_tiles/estimates.h"
#include "conv/few_tiles/weights_step.h"
#include "exec/pool.h"
#include "kernels/streams.h"

namespace canopy::conv::few_tiles {
namespace {

using base::CeilDiv;
using kernels::kFewTilesOutputs;
using kernels::kFewTilesTaps;

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers,
             const plan::WorkspaceLedger& ledger, void* workspace)
      : s_(step),
        p_(problem),
        scratch_(ledger.FetchEach(workspace, s_.scratch_handle_)),
        nonfinite_(new (ledger.Fetch(workspace, s_.found_handle_)) std::atomic<int>(0)),
        input_(buffers.input, p_.input.dtype, p_.rule),
        output_(buffers.output, p_.output.dtype, p_.rule),
        result_(buffers.weight_result, p_.weight_result.dtype, p_.rule.saturate) {}

  // Whether every result is finite.
  bool Run(const plan::WorkspaceLedger& ledger, void* workspace) const {
    const int64_t groups = p_.geometry.groups, panels = s_.Panels(), outputs = s_.OutputBlocks();
    const int64_t jobs = CeilDiv(s_.outputs_, s_.outputs_a_job_);  // of a panel
    const bool serial = IsSerial(s_.work_, groups * panels * jobs);
    const auto make = [&](int64_t index, int worker, float* numbers) {
      const WeightsScratch scratch = Scratch(worker);
      MakeBlock(s_.tiles_, s_.grids_, output_, {index / outputs, s_.outputs_, index % outputs}, scratch.lines,
                scratch.slab, numbers + index * BlockFloats(s_.grids_));
    };
    const packing::CommonNumbers::Run tiles(s_.outputs_at_points_, ledger, workspace, make);
    tiles.Begin(serial);
    exec::ParallelFor(groups * panels * jobs, serial, [&](int64_t index, int worker) {
      const int64_t first = index % jobs * s_.outputs_a_job_;
      const Block block{index / jobs / panels, index / jobs % panels, first,
                        std::min(s_.outputs_a_job_, s_.outputs_ - first)};
      Job(block, tiles.Of(worker), Scratch(worker));
    });
    return nonfinite_->load(std::memory_order_relaxed) == 0;
  }

 private:
  static constexpr int64_t kLanes = kernels::kFewTilesLanes;

  WeightsScratch Scratch(int worker) const { return s_.ScratchAt(scratch_.Of(worker), nullptr); }

  // Output channels of a panel of input channels.
  struct Block {
    int64_t group, panel, first, outputs;
  };

  void Job(const Block& at, const float* all_tiles, const WeightsScratch& scratch) const {
    const int64_t group = at.group, panel = at.panel, end = at.first + at.outputs;
    const int64_t channels = std::min(s_.PanelChannels(), s_.inputs_ - panel * s_.PanelChannels());
    const int64_t vectors = CeilDiv(channels, kLanes), block = BlockFloats(s_.grids_);
    const int64_t step = p_.weight_result.strides[0], stride = p_.geometry.stride[1];
    for (int64_t v = 0; v < vectors; ++v) {
      MakeBlock(s_.windows_, s_.grids_, input_, {group, s_.inputs_, panel * s_.vectors_ + v}, scratch.lines,
                scratch.slab, scratch.windows + v * block);
    }
    for (int64_t c = at.first; c < end; c += kFewTilesOutputs) {
      const int64_t offset = (group * s_.outputs_ + c) * step + panel * s_.vectors_ * kernels::kFewTilesKernels;
      const int64_t rows = std::min<int64_t>(kFewTilesOutputs, end - c);
      const bool whole = channels == vectors * kLanes && rows == kFewTilesOutputs;
      float* direct = whole ? result_.Direct(offset, 1) : nullptr;
      const float* tiles = all_tiles + (group * s_.OutputBlocks() + c / kLanes) * block + c % kLanes;
      const float* windows = scratch.windows;
      kernels::FewTilesProducts parts[kernels::kMostFewTilesParts];
      for (size_t part = 0; part < s_.grids_.size(); ++part) {
        const TileGrid& grid = s_.grids_[part];
        parts[part] = {{windows, grid.point_step()}, {tiles, grid.point_step()}, block, &grid.points()};
        windows += grid.block_floats();
        tiles += grid.block_floats();
      }
      const int64_t floats = channels * kFewTilesTaps;
      const bool streamed = direct != nullptr && s_.streams_ && kernels::AreLines(direct, step) &&
                            floats % kernels::kMemoryLineFloats == 0;
      const bool here = direct != nullptr && !streamed;
      float* to = here ? direct : scratch.gradients;
      const int64_t to_step = here ? step : vectors * kernels::kFewTilesKernels;
      const int64_t coming = !streamed && c + kFewTilesOutputs < end ? offset + kFewTilesOutputs * step : -1;
      kernels::FewTiles()[vectors].make_gradients[stride](parts, AskFor(result_, p_.weight_result, coming, vectors), to,
                                                          to_step);
      Check(to, to_step, rows, floats);
      if (streamed) kernels::Lines().stream_rows(to, to_step, rows, floats, direct, step);
      if (direct == nullptr) Store(offset, rows, floats, to, to_step);
    }
    if (s_.streams_) kernels::FinishStreams();
  }

  void Check(const float* rows, int64_t step, int64_t count, int64_t floats) const {
    bool nonfinite = false;
    for (int64_t r = 0; r < count; ++r) {
      nonfinite = nonfinite || kernels::Lines().any_nonfinite(rows + r * step, floats);
    }
    if (nonfinite) nonfinite_->store(1, std::memory_order_relaxed);
  }

  void Store(int64_t offset, int64_t rows, int64_t floats, const float* from, int64_t step) const {
    const kernels::Segment whole{0, 0, static_cast<int32_t>(floats)};
    for (int64_t r = 0; r < rows; ++r) {
      result_.Store(offset + r * p_.weight_result.strides[0], &whole, 1, 1, from + r * step);
    }
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  plan::Shares scratch_;
  std::atomic<int>* nonfinite_;
  LineReader input_, output_;
  LineWriter result_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  const WeightsRun run(*this, problem, buffers, ledger, workspace);
  if (!run.Run(ledger, workspace)) direct_.Run(problem, buffers, ledger, workspace);
}

}  // namespace canopy::conv::few_tiles
