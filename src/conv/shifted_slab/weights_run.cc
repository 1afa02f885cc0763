// SPDX-License-Identifier: Apache-2.0
#include "conv/shifted_slab/weights_run.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "conv/nonfinite.h"
#include "conv/shifted_slab/load.h"
#include "conv/shifted_slab/weights_step.h"
#include "exec/pool.h"

namespace canopy::conv::shifted_slab {

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
    RunBlocks(serial);
    // Positions between rows multiply a zero of the output with whatever the slab holds there, taps in the padding a
    // zero of the slab: both harmless only while everything is finite.
    if (nonfinite_->load(std::memory_order_relaxed) == 0) return;
    input_.TakeFiniteOnly();
    output_.TakeFiniteOnly();
    RunBlocks(serial);
    AddNonfiniteActivationTerms(p_, b_, serial);
  }

 private:
  struct Block {
    int64_t group, first_input, inputs;  // channels of the group
    int64_t first_output, lane_panels;
  };

  Block BlockAt(int64_t index) const {
    Block block;
    const int64_t lane_first = index % s_.lane_blocks_ * s_.lane_panels_;
    block.first_output = lane_first * s_.tile_.lanes;
    const int64_t all_panels = (s_.output_channels_ + s_.tile_.lanes - 1) / s_.tile_.lanes;
    block.lane_panels = std::min(s_.lane_panels_, all_panels - lane_first);
    block.first_input = index / s_.lane_blocks_ % s_.chunks_ * s_.chunk_;
    block.inputs = std::min(s_.chunk_, s_.input_channels_ - block.first_input);
    block.group = index / (s_.lane_blocks_ * s_.chunks_);
    return block;
  }

  void RunBlocks(bool serial) {
    const int64_t blocks = p_.geometry.groups * s_.chunks_ * s_.lane_blocks_;
    exec::ParallelFor(blocks * s_.segments_, serial,
                      [this](int64_t index, int worker) { Job(index / s_.segments_, index % s_.segments_, worker); });
    if (s_.segments_ > 1) {
      exec::ParallelFor(blocks, serial, [this](int64_t block, int worker) { Reduce(block, worker); });
    }
  }

  int64_t TileElems() const { return int64_t{s_.tile_.rows} * s_.tile_.lanes; }
  size_t TilesBytes() const { return static_cast<size_t>(s_.tiles_floats_) * sizeof(float); }

  void Job(int64_t block_index, int64_t segment, int worker) const {
    const Block block = BlockAt(block_index);
    WeightsScratch scratch = s_.ScratchAt(ledger_, workspace_, worker);
    float* sums =
        partial_ != nullptr ? partial_ + (block_index * s_.segments_ + segment) * s_.tiles_floats_ : scratch.deep;
    std::memset(sums, 0, TilesBytes());
    std::memset(scratch.tiles, 0, TilesBytes());
    ListRows(block, scratch.row_offsets);
    int64_t blocks = 0;
    const SlabSource source(input_, p_.input, p_.geometry.input_size);
    const int64_t last = std::min(s_.places_, (segment + 1) * s_.segment_places_);
    for (int64_t index = segment * s_.segment_places_; index < last; ++index) {
      const Place place = PlaceAt(s_.shape_, p_.geometry.batch, index);
      source.Load(s_.shape_, place, block.group * s_.input_channels_ + block.first_input, block.inputs, scratch.slab);
      for (int64_t begin = 0; begin < place.positions; begin += kDepth) {
        Multiply(block, source, place, begin, std::min(kDepth, place.positions - begin), scratch);
        if (++blocks % kBlocksASum == 0) {
          kernels::Lines().add(scratch.tiles, s_.tiles_floats_, sums);
          std::memset(scratch.tiles, 0, TilesBytes());
        }
      }
    }
    kernels::Lines().add(scratch.tiles, s_.tiles_floats_, sums);
    // An element that is not finite, of either tensor, is in some sum.
    if (kernels::Lines().any_nonfinite(sums, s_.tiles_floats_)) nonfinite_->store(1, std::memory_order_relaxed);
    if (partial_ == nullptr) Store(block, sums, scratch);
  }

  // The rows of one depth tap, channel by channel; rows beyond them, to the end of the last panel, repeat the first.
  void ListRows(const Block& block, int64_t* offsets) const {
    int64_t row = 0;
    for (int64_t c = 0; c < block.inputs; ++c) {
      for (const AxisTaps::Tap& h : s_.shape_.taps[1].taps) {
        for (const AxisTaps::Tap& w : s_.shape_.taps[2].taps) {
          offsets[row++] = c * s_.shape_.channel_elems + s_.shape_.TapOffset(0, h, w);
        }
      }
    }
    while (row < s_.row_panels_ * s_.tile_.rows) offsets[row++] = offsets[0];
  }

  void Multiply(const Block& block, const SlabSource& source, const Place& place, int64_t begin, int64_t count,
                const WeightsScratch& scratch) const {
    PositionStrides strides;
    strides.image = p_.output.strides[0];
    strides.stride = {p_.output.strides[2], p_.output.strides[3], p_.output.strides[4]};
    const int64_t segments = PositionSegments(s_.shape_, place, strides, begin, count, scratch.segments);
    const int64_t depth_plane = s_.shape_.TapOffset(1, s_.shape_.taps[1].taps[0], s_.shape_.taps[2].taps[0]) -
                                s_.shape_.TapOffset(0, s_.shape_.taps[1].taps[0], s_.shape_.taps[2].taps[0]);
    for (int64_t l = 0; l < block.lane_panels; ++l) {
      PackLanes(block, block.first_output + l * s_.tile_.lanes, segments, strides.element_step(), count, scratch);
      int64_t d = 0;
      for (const AxisTaps::Tap& tap : s_.shape_.taps[0].taps) {
        if (source.HasDepth(s_.shape_, place, tap)) {
          const float* rows = scratch.slab + d * depth_plane + begin;
          for (int64_t r = 0; r < s_.row_panels_; ++r) {
            s_.tile_.run_rows(count, rows, scratch.row_offsets + r * s_.tile_.rows, scratch.lanes,
                              scratch.tiles + ((d * s_.row_panels_ + r) * s_.lane_panels_ + l) * TileElems(), true);
          }
        }
        ++d;
      }
    }
  }

  // lanes[i * tile.lanes + j] = channel first + j of the output at position i; 0 between rows and past the channels.
  void PackLanes(const Block& block, int64_t first, int64_t segments, int64_t step, int64_t count,
                 const WeightsScratch& scratch) const {
    for (int64_t j = 0; j < s_.tile_.lanes; ++j) {
      float* line = scratch.lines[j % 4];
      if (first + j < s_.output_channels_) {
        const int64_t channel = block.group * s_.output_channels_ + first + j;
        output_.Fetch(channel * p_.output.strides[1], scratch.segments, segments, step, count, line);
      } else {
        std::memset(line, 0, static_cast<size_t>(count) * sizeof(float));
      }
      if (j % 4 == 3) kernels::Lines().interleave4(scratch.lines, count, s_.tile_.lanes, scratch.lanes + j - 3);
    }
  }

  // The fixed order of the sum over segments.
  void Reduce(int64_t block_index, int worker) const {
    const WeightsScratch scratch = s_.ScratchAt(ledger_, workspace_, worker);
    float* sum = partial_ + block_index * s_.segments_ * s_.tiles_floats_;
    for (int64_t segment = 1; segment < s_.segments_; ++segment) {
      kernels::Lines().add(sum + segment * s_.tiles_floats_, s_.tiles_floats_, sum);
    }
    Store(BlockAt(block_index), sum, scratch);
  }

  void Store(const Block& block, const float* tiles, const WeightsScratch& scratch) const {
    const int64_t rows = block.inputs * s_.plane_taps_, lanes = s_.tile_.lanes;
    const auto& strides = p_.weight_result.strides;
    for (int64_t d = 0; d < p_.geometry.kernel[0]; ++d) {
      const int64_t segments = RowSegments(block, d, rows, scratch.segments);
      for (int64_t output = 0; output < block.lane_panels * lanes; ++output) {
        const int64_t co = block.first_output + output;
        if (co >= s_.output_channels_) break;
        float* line = scratch.lines[0];
        const float* from =
            tiles + (d * s_.row_panels_ * s_.lane_panels_ + output / lanes) * TileElems() + output % lanes;
        for (int64_t row = 0; row < rows; ++row) {
          line[row] = from[(row / s_.tile_.rows * s_.lane_panels_) * TileElems() + row % s_.tile_.rows * lanes];
        }
        result_.Store((block.group * s_.output_channels_ + co) * strides[0], scratch.segments, segments, 1, line);
      }
    }
  }

  // Where the rows of one depth tap go, in stretches that lie side by side.
  int64_t RowSegments(const Block& block, int64_t d, int64_t rows, kernels::Segment* segments) const {
    const auto& strides = p_.weight_result.strides;
    const Extent3& kernel = p_.geometry.kernel;
    int64_t made = 0;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t c = block.first_input + row / s_.plane_taps_, tap = row % s_.plane_taps_;
      const int64_t offset =
          c * strides[1] + d * strides[2] + tap / kernel[2] * strides[3] + tap % kernel[2] * strides[4];
      if (made > 0 && segments[made - 1].source + segments[made - 1].count == offset) {
        ++segments[made - 1].count;
      } else {
        segments[made++] = {offset, static_cast<int32_t>(row), 1};
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

}  // namespace canopy::conv::shifted_slab
