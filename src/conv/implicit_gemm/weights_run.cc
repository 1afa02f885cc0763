// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "conv/implicit_gemm/weights_step.h"
#include "conv/nonfinite.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"

namespace canopy::conv::implicit_gemm {

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
        input_(b_.input, p_.input.dtype, p_.rule),
        output_(b_.output, p_.output.dtype, p_.rule),
        result_(b_.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        partial_(s_.segments_ > 1 ? static_cast<float*>(ledger.Fetch(workspace, s_.partial_handle_)) : nullptr),
        nonfinite_(new (ledger.Fetch(workspace, s_.flag_handle_)) std::atomic<int>(0)) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    if (!s_.padding_) return RunBlocks(serial);
    const auto take_finite = [this] {
      input_.TakeFiniteOnly();
      output_.TakeFiniteOnly();
    };
    RunPastNonfinite(
        p_, b_, serial, *nonfinite_, [&] { RunBlocks(serial); }, take_finite);
  }

 private:
  void RunBlocks(bool serial) {
    const int64_t blocks = p_.geometry.groups * s_.row_blocks_ * s_.lane_blocks_;
    exec::ParallelFor(blocks * s_.segments_, serial,
                      [this](int64_t index, int worker) { Job(index / s_.segments_, index % s_.segments_, worker); });
    if (s_.segments_ > 1) {
      exec::ParallelFor(blocks, serial, [this](int64_t block, int worker) { Reduce(block, worker); });
    }
  }

  struct Block {
    int64_t group, row_first, row_count, lane_first, lane_count;  // panels
  };

  Block BlockAt(int64_t index) const {
    Block block;
    block.lane_first = index % s_.lane_blocks_ * s_.blocking_.lane_panels;
    block.row_first = index / s_.lane_blocks_ % s_.row_blocks_ * s_.blocking_.row_panels;
    block.group = index / (s_.lane_blocks_ * s_.row_blocks_);
    block.row_count = std::min(s_.blocking_.row_panels, s_.row_panels_ - block.row_first);
    block.lane_count = std::min(s_.blocking_.lane_panels, s_.lane_panels_ - block.lane_first);
    return block;
  }

  void SplitColumn(int64_t column, int64_t* channel, int64_t* tap) const {
    const int64_t taps = p_.geometry.taps(), channels = p_.geometry.group_input_channels();
    *channel = s_.tap_major_ ? column % channels : column / taps;
    *tap = s_.tap_major_ ? column / channels : column % taps;
  }

  // to[(k - begin) * width + j] = channel first + j of the output under pixel k.
  void PackOutput(int64_t group, int64_t width, int64_t first, int64_t begin, int64_t count, const JobScratch& scratch,
                  float* to) const {
    const int64_t valid = std::min(width, s_.channels_ - first);
    const int64_t offset = (group * s_.channels_ + first) * p_.output.strides[1];
    const PixelMap map = OutputMap(p_);
    const int64_t segments = BuildSegments(map, begin, count, scratch.segments);
    bool nonfinite = false;
    if (s_.output_channel_lines_) {
      std::memset(to, 0, static_cast<size_t>(width * count) * sizeof(float));
      CopyChannels(output_, map, segments, offset, valid, width, scratch, to);
      nonfinite = kernels::Lines().any_nonfinite(to, width * count);
    } else {
      for (int64_t j = 0; j < width; ++j) {
        float* line = scratch.lines[j % 4];
        if (j < valid) {
          output_.Fetch(offset + j * p_.output.strides[1], scratch.segments, segments, map.element_step(), count, line);
          nonfinite |= kernels::Lines().any_nonfinite(line, count);
        } else {
          std::memset(line, 0, static_cast<size_t>(count) * sizeof(float));
        }
        if (j % 4 == 3) kernels::Lines().interleave4(scratch.lines, count, width, to + j - 3);
      }
    }
    if (nonfinite) nonfinite_->store(1, std::memory_order_relaxed);
  }

  // to[(k - begin) * width + j] = the input that column first + j meets at pixel k.
  void PackInput(int64_t group, int64_t width, int64_t first, int64_t begin, int64_t count, const JobScratch& scratch,
                 float* to) const {
    const int64_t valid = std::min(width, s_.columns_ - first);
    const int64_t group_channel = group * p_.geometry.group_input_channels();
    if (s_.input_channel_lines_) {
      std::memset(to, 0, static_cast<size_t>(width * count) * sizeof(float));
      for (int64_t j = 0; j < valid;) {
        int64_t channel, tap;
        SplitColumn(first + j, &channel, &tap);
        const int64_t run = std::min(valid - j, p_.geometry.group_input_channels() - channel);
        const PixelMap map = InputMap(p_, tap);
        const int64_t segments = BuildSegments(map, begin, count, scratch.segments);
        CopyChannels(input_, map, segments, group_channel + channel, run, width, scratch, to + j);
        j += run;
      }
      return;
    }
    for (int64_t j = 0; j < width; ++j) {
      float* line = scratch.lines[j % 4];
      if (j < valid) {
        int64_t channel, tap;
        SplitColumn(first + j, &channel, &tap);
        const PixelMap map = InputMap(p_, tap);
        const int64_t segments = BuildSegments(map, begin, count, scratch.segments);
        input_.Fetch((group_channel + channel) * p_.input.strides[1], scratch.segments, segments, map.element_step(),
                     count, line);
      } else {
        std::memset(line, 0, static_cast<size_t>(count) * sizeof(float));
      }
      if (j % 4 == 3) kernels::Lines().interleave4(scratch.lines, count, width, to + j - 3);
    }
  }

  // Pixel by pixel, `run` channels that lie side by side.
  static void CopyChannels(const LineReader& reader, const PixelMap& map, int64_t segments, int64_t offset, int64_t run,
                           int64_t width, const JobScratch& scratch, float* to) {
    for (int64_t s = 0; s < segments; ++s) {
      const kernels::Segment& in = scratch.segments[s];
      for (int64_t i = 0; i < in.count; ++i) {
        reader.FetchRun(offset + in.source + i * map.element_step(), run, to + (in.begin + i) * width);
      }
    }
  }

  void Job(int64_t block_index, int64_t segment, int worker) const {
    const Block block = BlockAt(block_index);
    JobScratch scratch = s_.scratch_.At(ledger_, workspace_, worker);
    if (partial_ != nullptr) {
      scratch.tiles = partial_ + (block_index * s_.segments_ + segment) * s_.block_floats_;
    }
    const int64_t begin = segment * s_.segment_pixels_, end = std::min(s_.pixels_, begin + s_.segment_pixels_);
    const JobRange range{block.row_count, block.lane_count, begin, end};
    const int64_t rows = s_.tile_.rows, lanes = s_.tile_.lanes;
    const auto pack_rows = [&](int64_t panel, int64_t k, int64_t count, float* to) -> const float* {
      const int64_t first = (block.row_first + panel) * rows;
      s_.channels_are_lanes_ ? PackInput(block.group, rows, first, k, count, scratch, to)
                             : PackOutput(block.group, rows, first, k, count, scratch, to);
      return to;
    };
    const auto pack_lanes = [&](int64_t panel, int64_t k, int64_t count, float* to) -> const float* {
      const int64_t first = (block.lane_first + panel) * lanes;
      s_.channels_are_lanes_ ? PackOutput(block.group, lanes, first, k, count, scratch, to)
                             : PackInput(block.group, lanes, first, k, count, scratch, to);
      return to;
    };
    MultiplyJob(s_.tile_, s_.blocking_, range, scratch, pack_rows, pack_lanes);
    if (partial_ == nullptr) Store(block, scratch.tiles, scratch);
  }

  // The fixed order of the sum over segments.
  void Reduce(int64_t block_index, int worker) const {
    const Block block = BlockAt(block_index);
    const JobScratch scratch = s_.scratch_.At(ledger_, workspace_, worker);
    float* sum = partial_ + block_index * s_.segments_ * s_.block_floats_;
    const int64_t used = block.row_count * block.lane_count * s_.tile_.rows * s_.tile_.lanes;
    for (int64_t segment = 1; segment < s_.segments_; ++segment) {
      kernels::Lines().add(sum + segment * s_.block_floats_, used, sum);
    }
    Store(block, sum, scratch);
  }

  void Store(const Block& block, const float* tiles, const JobScratch& scratch) const {
    const int64_t rows = s_.tile_.rows, lanes = s_.tile_.lanes;
    const int64_t all_rows = s_.channels_are_lanes_ ? s_.columns_ : s_.channels_;
    const int64_t all_lanes = s_.channels_are_lanes_ ? s_.channels_ : s_.columns_;
    const int64_t group_offset = block.group * s_.channels_ * p_.weight_result.strides[0];
    for (int64_t l = 0; l < block.lane_count; ++l) {
      const int64_t first_lane = (block.lane_first + l) * lanes, valid = std::min(lanes, all_lanes - first_lane);
      int64_t step = 1;
      const int64_t segments = LaneSegments(first_lane, valid, scratch.segments, &step);
      for (int64_t r = 0; r < block.row_count; ++r) {
        const float* tile = tiles + (l * block.row_count + r) * rows * lanes;
        const int64_t first_row = (block.row_first + r) * rows, count = std::min(rows, all_rows - first_row);
        for (int64_t i = 0; i < count; ++i) {
          const int64_t row = first_row + i;
          const int64_t offset = s_.channels_are_lanes_ ? ColumnOffset(row) : row * p_.weight_result.strides[0];
          result_.Store(group_offset + offset, scratch.segments, segments, step, tile + i * lanes);
        }
      }
    }
  }

  int64_t ColumnOffset(int64_t column) const {
    int64_t channel, tap;
    SplitColumn(column, &channel, &tap);
    const Geometry& g = p_.geometry;
    const auto& strides = p_.weight_result.strides;
    return channel * strides[1] + tap / (g.kernel[1] * g.kernel[2]) * strides[2] +
           tap / g.kernel[2] % g.kernel[1] * strides[3] + tap % g.kernel[2] * strides[4];
  }

  // Where a line of lanes goes, in stretches that lie side by side.
  int64_t LaneSegments(int64_t first, int64_t count, kernels::Segment* segments, int64_t* step) const {
    if (s_.channels_are_lanes_) {
      *step = p_.weight_result.strides[0];
      segments[0] = {first * *step, 0, static_cast<int32_t>(count)};
      return 1;
    }
    int64_t made = 0;
    for (int64_t j = 0; j < count; ++j) {
      const int64_t offset = ColumnOffset(first + j);
      if (made > 0 && segments[made - 1].source + segments[made - 1].count == offset) {
        ++segments[made - 1].count;
      } else {
        segments[made++] = {offset, static_cast<int32_t>(j), 1};
      }
    }
    return made;
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  const plan::WorkspaceLedger& ledger_;
  void* workspace_;
  LineReader input_, output_;
  LineWriter result_;
  float* partial_;
  std::atomic<int>* nonfinite_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  WeightsRun(*this, problem, buffers, ledger, workspace).Run();
}

}  // namespace canopy::conv::implicit_gemm
