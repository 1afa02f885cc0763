// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <new>

#include "conv/bias_sums.h"
#include "conv/grid.h"
#include "conv/split_gemm/pack.h"
#include "conv/split_gemm/weights_step.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"

namespace canopy::conv::split_gemm {

using kernels::kSplitSide;
using kernels::kSplitTerms;

// One run of one step: its buffers with the plan's numbers.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers,
             const plan::WorkspaceLedger& ledger, void* workspace)
      : s_(step),
        p_(problem),
        b_(buffers),
        ledger_(ledger),
        workspace_(workspace),
        input_(buffers.input, p_.input.dtype, p_.rule),
        output_(buffers.output, p_.output.dtype, p_.rule),
        result_(buffers.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        sums_(s_.stretches_ > 1 ? static_cast<float*>(ledger.Fetch(workspace, s_.sums_handle_)) : nullptr),
        biases_(s_.bias_ != 0 ? static_cast<double*>(ledger.Fetch(workspace, s_.biases_handle_)) : nullptr),
        losses_(new (ledger.Fetch(workspace, s_.losses_handle_)) Losses) {}

  // Whether the results are what the numbers make.
  bool Run() const {
    const bool serial = s_.work_ < kSerialWork;
    const int64_t jobs = p_.geometry.groups * s_.RowBlocks() * s_.LaneBlocks();
    exec::ParallelFor(jobs * s_.stretches_, serial, [this](int64_t index, int worker) {
      Job(index / s_.stretches_, index % s_.stretches_, s_.scratch_.At(ledger_, workspace_, worker));
    });
    if (sums_ != nullptr) {
      exec::ParallelFor(jobs, serial, [this](int64_t index, int worker) {
        AddStretches(index, s_.scratch_.At(ledger_, workspace_, worker));
      });
    }
    if (biases_ != nullptr) StoreBiasSums(p_, b_, s_.stretches_, 1, serial, biases_);
    return losses_->None();
  }

 private:
  struct Block {
    int64_t group, row_first, row_count, lane_first, lane_count;  // panels
  };

  Block BlockAt(int64_t index) const {
    Block block;
    block.lane_first = index % s_.LaneBlocks() * s_.cut_.lane_panels;
    block.row_first = index / s_.LaneBlocks() % s_.RowBlocks() * s_.cut_.row_panels;
    block.group = index / (s_.LaneBlocks() * s_.RowBlocks());
    block.row_count = std::min(s_.cut_.row_panels, s_.row_panels_ - block.row_first);
    block.lane_count = std::min(s_.cut_.lane_panels, s_.lane_panels_ - block.lane_first);
    return block;
  }

  // A range of pixels of one tensor: `segments` of `scratch` are what it is in memory.
  struct Pixels {
    int64_t step, segments, count;
  };
  Pixels PixelsAt(const PixelMap& map, int64_t block, int64_t blocks, const JobScratch& scratch) const {
    const int64_t first = block * kSplitTerms, count = std::min(blocks * kSplitTerms, s_.pixels_ - first);
    return {map.element_step(), BuildSegments(map, first, count, scratch.segments), count};
  }

  // Packs panels of up to 16 channels.
  struct Packers {
    kernels::SplitPackFn along, across;
    kernels::SplitPackPiecesFn pieces;
  };

  // Channels first, first + 1, ... of a tensor, panel by panel: to_panel floats from one to the next, to_block from
  // block to block. What they are is added to `biases`, so many numbers a pixel, unless that is nullptr.
  struct Channels {
    const LineReader& reader;
    const Operand& operand;
    int64_t first, count;
    int64_t to_panel, to_block;
    double* biases;
    int64_t a_pixel;
  };

  uint32_t Pack(const Channels& channels, const Pixels& pixels, const Packers& pack, const JobScratch& scratch,
                float* to) const {
    const int64_t stride = channels.operand.strides[1];
    const bool lines = ChannelLines(channels.operand, pixels.step);
    const bool pieces = !lines && ReadsPieces(channels.reader, pixels.step);
    const bool in_place = lines && StandInPlace(channels.reader, pixels, scratch);
    if (lines && !in_place) CopyChannels(channels, pixels, scratch);
    if (pieces) {
      CutIntoPieces(scratch.segments, pixels.segments, pixels.count, pixels.step, scratch.pieces, scratch.first_piece);
    }
    uint32_t bits = 0;
    for (int64_t c = 0; c < channels.count; c += kSplitSide, to += channels.to_panel) {
      const int64_t count = std::min<int64_t>(kSplitSide, channels.count - c);
      const int64_t offset = (channels.first + c) * stride;
      if (in_place) {
        const auto* from = static_cast<const float*>(channels.reader.Address(offset + scratch.segments[0].source));
        bits |=
            pack.across({from, pixels.step, pixels.count, count, channels.to_block, 1, Rounds(channels.reader)}, to);
      } else if (lines) {
        bits |= pack.across({scratch.lines + c, channels.count, pixels.count, count, channels.to_block}, to);
      } else if (pieces) {
        const kernels::convert::Form form = channels.reader.form();
        bits |= pack.pieces(
            {form, channels.reader.Address(offset), stride, count, pixels.step,
             base::CeilDiv(pixels.count, int64_t{kSplitSide}), scratch.pieces, scratch.first_piece, channels.to_block},
            to);
      } else {
        const int64_t line = s_.scratch_.line_step();
        for (int64_t i = 0; i < count; ++i) {
          channels.reader.Fetch(offset + i * stride, scratch.segments, pixels.segments, pixels.step, pixels.count,
                                scratch.lines + i * line);
        }
        bits |= pack.along({scratch.lines, line, count, pixels.count, channels.to_block}, to);
      }
      if (channels.biases == nullptr) continue;
      for (int64_t s = 0; s < pixels.segments; ++s) {
        const kernels::Segment& in = scratch.segments[s];
        const auto* from = static_cast<const float*>(channels.reader.Address(offset + in.source));
        AddRowSums({from, stride, count, in.count * channels.a_pixel, 1, 0}, channels.biases + c);
      }
    }
    return bits;
  }

  // Where a job sums biases of a tensor's channels from `first` on, or nullptr.
  double* BiasesOf(Computation bias, bool sums, int64_t stretch, int64_t first) const {
    return bias == s_.bias_ && sums ? biases_ + stretch * s_.bias_channels_ + first : nullptr;
  }

  // Whether lines of pixels are FP32 numbers, all one step from one another.
  static bool StandInPlace(const LineReader& reader, const Pixels& pixels, const JobScratch& scratch) {
    return ReadsFloats(reader) && pixels.segments == 1 && scratch.segments[0].count == pixels.count;
  }

  // A line is a pixel, zeros where there is none.
  void CopyChannels(const Channels& channels, const Pixels& pixels, const JobScratch& scratch) const {
    const int64_t width = channels.count;
    int64_t done = 0;
    for (int64_t s = 0; s < pixels.segments; ++s) {
      const kernels::Segment& in = scratch.segments[s];
      std::fill(scratch.lines + done * width, scratch.lines + in.begin * width, 0.0f);
      channels.reader.CopyRows(channels.first + in.source, pixels.step, in.count, width,
                               scratch.lines + in.begin * width, width);
      done = in.begin + in.count;
    }
    std::fill(scratch.lines + done * width, scratch.lines + pixels.count * width, 0.0f);
  }

  void PackOutput(const Block& at, int64_t block, int64_t count, double* biases, const JobScratch& scratch,
                  float* to) const {
    const Pixels pixels = PixelsAt(OutputMap(p_), block, count, scratch);
    const Packers pack{s_.kernels_.rows_along, s_.kernels_.rows_across, s_.kernels_.pieces_of_rows_along};
    losses_->AddRows(
        Pack({output_, p_.output, FirstRow(at), RowsOf(at), s_.scratch_.panel(), s_.scratch_.rows_block(), biases, 1},
             pixels, pack, scratch, to));
  }

  int64_t FirstRow(const Block& at) const { return at.group * s_.rows_ + at.row_first * kSplitSide; }
  int64_t FirstChannel(const Block& at) const {
    return at.group * s_.channels_ + at.lane_first / s_.taps_ * kSplitSide;
  }

  int64_t RowsOf(const Block& at) const {
    return std::min(at.row_count * kSplitSide, s_.rows_ - at.row_first * kSplitSide);
  }
  // Of which some lane is.
  int64_t ChannelsOf(const Block& at) const {
    const int64_t end = base::CeilDiv(at.lane_first + at.lane_count, s_.taps_) * kSplitSide;
    return std::min(end, s_.channels_) - at.lane_first / s_.taps_ * kSplitSide;
  }

  // Tap by tap, for all channels of the job. Biases are sums of whole rows, of all taps along them.
  void PackInput(const Block& at, int64_t block, int64_t count, double* biases, const JobScratch& scratch,
                 float* to) const {
    const int64_t width = p_.geometry.kernel[2];
    const Packers pack{s_.kernels_.lanes_along, s_.kernels_.lanes_across, s_.kernels_.pieces_of_lanes_along};
    for (int64_t tap = 0; tap < s_.taps_; ++tap) {
      const int64_t skipped = (tap - at.lane_first % s_.taps_ + s_.taps_) % s_.taps_;
      if (skipped >= at.lane_count) continue;
      const Pixels pixels = PixelsAt(InputMap(p_, tap), block, count, scratch);
      const int64_t first = (at.lane_first + skipped) / s_.taps_ * kSplitSide;
      const int64_t panels = base::CeilDiv(at.lane_count - skipped, s_.taps_);
      losses_->AddLanes(
          Pack({input_, p_.input, at.group * s_.channels_ + first, std::min(panels * kSplitSide, s_.channels_ - first),
                s_.taps_ * s_.scratch_.panel(), s_.scratch_.lanes_block(), tap % width == 0 ? biases : nullptr, width},
               pixels, pack, scratch, to + skipped * s_.scratch_.panel()));
    }
  }

  void Ask(const LineReader& reader, const Operand& operand, const PixelMap& map, int64_t channel, int64_t channels,
           int64_t block, int64_t blocks, const JobScratch& scratch, AskList* list) const {
    const Pixels pixels = PixelsAt(map, block, blocks, scratch);
    AskForLines(reader, operand, channel, channels, scratch.segments, pixels.segments, pixels.step, list);
  }

  void Job(int64_t index, int64_t stretch, JobScratch scratch) const {
    const Block at = BlockAt(index);
    if (sums_ != nullptr) scratch.results = sums_ + (index * s_.stretches_ + stretch) * s_.scratch_.results();
    const int64_t first = stretch * s_.stretch_blocks_;
    const JobRange range{at.row_count, at.lane_count, first, std::min(s_.stretch_blocks_, s_.blocks_ - first)};
    double* const row_biases = BiasesOf(kBiasFromOutput, at.lane_first == 0, stretch, FirstRow(at));
    double* const lane_biases = BiasesOf(kBiasFromInput, at.row_first == 0, stretch, FirstChannel(at));
    if (row_biases != nullptr) std::fill_n(row_biases, RowsOf(at), 0.0);
    if (lane_biases != nullptr) std::fill_n(lane_biases, ChannelsOf(at), 0.0);
    const auto pack_rows = [&](int64_t block, int64_t count, float* to, const float**) {
      PackOutput(at, block, count, row_biases, scratch, to);
    };
    const auto pack_lanes = [&](int64_t block, int64_t count, float* to) {
      PackInput(at, block, count, lane_biases, scratch, to);
    };
    const auto ask = [&](int64_t block, AskList* list) {
      const Geometry& g = p_.geometry;
      const int64_t count = std::min(kBlocksAPass, s_.blocks_ - block);  // the next job may have the next stretch
      if (count <= 0) return;
      Ask(output_, p_.output, OutputMap(p_), FirstRow(at), RowsOf(at), block, count, scratch, list);
      Ask(input_, p_.input, InputMap(p_, g.taps() / 2), FirstChannel(at), ChannelsOf(at), block, count, scratch, list);
    };
    MultiplyJob(s_.kernels_, s_.scratch_, range, scratch, scratch.results, pack_rows, pack_lanes, ask);
    if (sums_ == nullptr) Store(at, scratch.results, scratch);
  }

  // In their order, whoever made them.
  void AddStretches(int64_t index, const JobScratch& scratch) const {
    const Block at = BlockAt(index);
    float* sum = sums_ + index * s_.stretches_ * s_.scratch_.results();
    const int64_t floats = at.row_count * kSplitSide * s_.scratch_.results_step();
    for (int64_t stretch = 1; stretch < s_.stretches_; ++stretch) {
      kernels::Lines().add(sum + stretch * s_.scratch_.results(), floats, sum);
    }
    Store(at, sum, scratch);
  }

  void Store(const Block& at, const float* results, const JobScratch& scratch) const {
    const auto& strides = p_.weight_result.strides;
    const int64_t rows = RowsOf(at), step = s_.scratch_.results_step();
    const int64_t offset = (at.group * s_.rows_ + at.row_first * kSplitSide) * strides[0];
    for (int64_t r = 0; r < rows; ++r) losses_->AddResults(results + r * step, at.lane_count * kSplitSide);
    if (strides[0] == 1) return StoreColumns(at, offset, rows, results, scratch);
    for (int64_t r = 0; r < rows; ++r) StoreRow(at, offset + r * strides[0], results + r * step, scratch);
  }

  // Where the weight of a lane is, from the one of the first input channel and tap.
  int64_t LaneOffset(int64_t channel, int64_t tap) const {
    const Extent3& kernel = p_.geometry.kernel;
    const auto& strides = p_.weight_result.strides;
    return channel * strides[1] + tap / (kernel[1] * kernel[2]) * strides[2] +
           tap / kernel[2] % kernel[1] * strides[3] + tap % kernel[2] * strides[4];
  }

  // Output channels lie side by side. The packed rows are not needed any more.
  void StoreColumns(const Block& at, int64_t offset, int64_t rows, const float* results,
                    const JobScratch& scratch) const {
    const kernels::Segment line{0, 0, static_cast<int32_t>(rows)};
    int64_t lines[kSplitSide];
    for (int64_t i = 0; i < kSplitSide; ++i) lines[i] = i * rows;
    for (int64_t l = 0; l < at.lane_count; ++l) {
      const int64_t tap = (at.lane_first + l) % s_.taps_, first = (at.lane_first + l) / s_.taps_ * kSplitSide;
      const int64_t channels = std::min<int64_t>(kSplitSide, s_.channels_ - first);
      kernels::Lines().transpose(results + l * kSplitSide, s_.scratch_.results_step(), rows, channels, scratch.rows,
                                 lines);
      for (int64_t i = 0; i < channels; ++i) {
        result_.Store(offset + LaneOffset(first + i, tap), &line, 1, 1, scratch.rows + lines[i]);
      }
    }
  }

  void StoreRow(const Block& at, int64_t offset, const float* lanes, const JobScratch& scratch) const {
    const Geometry& g = p_.geometry;
    const auto& strides = p_.weight_result.strides;
    const bool run = strides[4] == 1 && strides[3] == g.kernel[2] && strides[2] == g.kernel[1] * g.kernel[2] &&
                     strides[1] == s_.taps_;
    for (int64_t l = 0; l < at.lane_count;) {
      const int64_t tap = (at.lane_first + l) % s_.taps_, first = (at.lane_first + l) / s_.taps_ * kSplitSide;
      const int64_t channels = std::min<int64_t>(kSplitSide, s_.channels_ - first);
      if (run && tap == 0 && l + s_.taps_ <= at.lane_count) {
        result_.StorePhases(offset + first * strides[1], 1, lanes + l * kSplitSide, kSplitSide, s_.taps_, 0,
                            channels * s_.taps_, scratch.lines);
        l += s_.taps_;
        continue;
      }
      const kernels::Segment line{0, 0, static_cast<int32_t>(channels)};
      result_.Store(offset + LaneOffset(first, tap), &line, 1, strides[1], lanes + l * kSplitSide);
      ++l;
    }
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  const plan::WorkspaceLedger& ledger_;
  void* workspace_;
  LineReader input_, output_;
  LineWriter result_;
  float* sums_;
  double* biases_;  // [stretch][channel]
  Losses* losses_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  if (!WeightsRun(*this, problem, buffers, ledger, workspace).Run()) direct_.Run(problem, buffers, ledger, workspace);
}

}  // namespace canopy::conv::split_gemm
