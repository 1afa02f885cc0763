// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "base/checked_math.h"
#include "conv/columns/weights_step.h"
#include "conv/elements.h"
#include "conv/nonfinite.h"
#include "conv/packing/row_panels.h"
#include "conv/pair_reader.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"
#include "kernels/streams.h"

namespace canopy::conv::columns {
namespace {

constexpr int64_t kGroupsASum = 32;  // products that are added up before a further level is opened

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers, plan::Shares scratch,
             float* partial, void* flag)
      : s_(step),
        p_(problem),
        b_(buffers),
        scratch_(scratch),
        input_(b_.input, p_.input.dtype, p_.rule),
        output_(b_.output, p_.output.dtype, p_.rule),
        input_pairs_(b_.input, p_.input.dtype, p_.rule),
        output_pairs_(b_.output, p_.output.dtype, p_.rule),
        result_(b_.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        partial_(partial),
        nonfinite_(new (flag) std::atomic<int>(0)) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    if (!s_.zeros_) return RunBlocks(serial);
    const auto take_finite = [this] {
      keep_bias_ = true;  // it is right already
      input_.TakeFiniteOnly();
      output_.TakeFiniteOnly();
      input_pairs_.TakeFiniteOnly();
      output_pairs_.TakeFiniteOnly();
    };
    RunPastNonfinite(
        p_, b_, serial, *nonfinite_, [&] { RunBlocks(serial); }, take_finite);
  }

 private:
  struct Block {
    int64_t group, first_row, rows;   // output channels of the group
    int64_t number, first_run, runs;  // columns
    int64_t first_channel, channels;  // input channels of the group that they touch
  };

  WeightsScratch ScratchOf(int worker) const { return s_.ScratchAt(scratch_.Of(worker), nullptr); }

  void RunBlocks(bool serial) const {
    const int64_t blocks = s_.jobs(p_.geometry.groups), segments = s_.segments_;
    exec::ParallelFor(blocks * segments, serial,
                      [&](int64_t index, int worker) { Job(index / segments, index % segments, ScratchOf(worker)); });
    if (segments > 1) exec::ParallelFor(blocks, serial, [&](int64_t block, int) { Reduce(block); });
  }

  Block BlockAt(int64_t index) const {
    Block block;
    block.number = index % s_.lane_blocks_;
    block.first_run = block.number * s_.lane_block_;
    block.runs = std::min(s_.lane_block_, s_.runs_ - block.first_run);
    block.first_channel = block.first_run / s_.channel_runs_;
    block.channels = base::CeilDiv(block.first_run + block.runs, s_.channel_runs_) - block.first_channel;
    block.first_row = index / s_.lane_blocks_ % s_.row_blocks_ * s_.row_block_;
    block.rows = std::min(s_.row_block_, s_.output_channels_ - block.first_row);
    block.group = index / (s_.lane_blocks_ * s_.row_blocks_);
    return block;
  }

  void Job(int64_t block_index, int64_t segment, const WeightsScratch& scratch) const {
    const Block block = BlockAt(block_index);
    const int64_t floats = s_.tiles_floats();
    float* sums = partial_ != nullptr ? partial_ + (block_index * s_.segments_ + segment) * floats : scratch.deep;
    const int64_t begin = segment * s_.segment_groups_, end = std::min(s_.groups_, begin + s_.segment_groups_);
    Clear(sums);
    Clear(scratch.tiles);
    ListRuns(block, scratch.run_offsets);
    for (int64_t index = begin; index < end; ++index) {
      AddGroup(block, index, scratch);
      if ((index - begin + 1) % kGroupsASum == 0 || index + 1 == end) {
        kernels::Lines().add(scratch.tiles, floats, sums);
        if (index + 1 < end) Clear(scratch.tiles);
      }
    }
    if (partial_ == nullptr) Store(block, sums);
  }

  void Clear(float* tiles) const { std::memset(tiles, 0, static_cast<size_t>(s_.tiles_floats()) * sizeof(float)); }

  // Where each of the block's runs begins in the slab, for a pixel of the first row and column.
  void ListRuns(const Block& block, int64_t* offsets) const {
    const Extent3& kernel = p_.geometry.kernel;
    const Extent3& dilation = p_.geometry.dilation;
    const int64_t a_row = kernel[2] / s_.run_;
    for (int64_t r = 0; r < block.runs; ++r) {
      const int64_t run = block.first_run + r, channel = run / s_.channel_runs_ - block.first_channel;
      const int64_t d = run / (a_row * kernel[1]) % kernel[0], h = run / a_row % kernel[1], w = run % a_row;
      offsets[r] = ((channel * kernel[0] + d) * s_.slab_rows_ + h * dilation[1]) * s_.slab_pitch_ + w * dilation[2];
    }
  }

  void AddGroup(const Block& block, int64_t index, const WeightsScratch& scratch) const {
    const float* in_place = s_.crowded_ ? nullptr : output_.Direct(0, 1);
    const int64_t begin = index * s_.group_strips_, end = std::min(s_.strips_.count(), begin + s_.group_strips_);
    int64_t listed = 0, terms = 0;
    for (int64_t i = begin; i < end; ++i) {
      const packing::Strip strip = s_.strips_.At(i);
      FillSlab(block, strip, scratch);
      CopyColumns(block, strip, scratch, scratch.columns + terms * s_.lane_step_);
      const int64_t offset = in_place != nullptr ? OutputOffset(strip, FirstChannel(block)) : terms;
      scratch.runs[listed++] = {offset, terms * s_.lane_step_, s_.Terms(strip)};
      terms += s_.Terms(strip);
    }
    if (in_place != nullptr) {
      const packing::Strip next = s_.strips_.At(std::min(end, s_.strips_.count() - 1));
      const Ahead ahead{output_.Address(OutputOffset(next, FirstChannel(block))), block.rows, next.pixels(), terms};
      return Multiply(block, {in_place, p_.output.strides[1], 0, block.rows}, listed, ahead, scratch);
    }
    // Copied or converted a few at a time, so that they are still in the L1 when they are multiplied.
    const int64_t parts = base::CeilDiv(block.rows, s_.rows_at_once());
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = part * block.rows / parts, count = (part + 1) * block.rows / parts - first;
      FetchRows(block, index, first, count, scratch);
      const Ahead ahead = s_.group_strips_ == 1 ? ComingRows(block, index, first + count, count, terms) : Ahead{};
      Multiply(block, {scratch.rows, s_.MostTerms(), first, count}, listed, ahead, scratch);
    }
  }

  int64_t FirstChannel(const Block& block) const { return block.group * s_.output_channels_ + block.first_row; }

  // Rows [first, first + count) of a group's strips; where these are several the next rows are asked for, as channels
  // are too far apart for the processor to foresee them.
  void FetchRows(const Block& block, int64_t index, int64_t first, int64_t count, const WeightsScratch& scratch) const {
    const int64_t begin = index * s_.group_strips_, end = std::min(s_.strips_.count(), begin + s_.group_strips_);
    const int64_t stride = p_.output.strides[1], next = first + count < block.rows ? first + count : 0;
    float* to = scratch.rows;
    for (int64_t i = begin; i < end; ++i) {
      const packing::Strip strip = s_.strips_.At(i);
      const int64_t coming = next > 0 ? i : std::min(i + s_.group_strips_, s_.strips_.count() - 1);
      const int64_t ahead = OutputOffset(s_.strips_.At(coming), FirstChannel(block) + next);
      const int64_t offset = OutputOffset(strip, FirstChannel(block) + first);
      for (int64_t r = 0; r < count; ++r) {
        if (s_.group_strips_ > 1) output_.Prefetch(ahead + r * stride, strip.pixels());
        FetchOutput(strip, offset + r * stride, to + r * s_.MostTerms());
      }
      to += s_.Terms(strip);
    }
    if (s_.sums_ && s_.HasBias(block.number)) {
      AddBiases(block, begin, end, first, count, scratch.tiles + s_.products_floats() + first);
    }
  }

  // Of strips [begin, end), which were just read.
  void AddBiases(const Block& block, int64_t begin, int64_t end, int64_t first, int64_t count, float* sums) const {
    for (int64_t r = first; r < first + count; ++r) {
      float sum = 0;
      for (int64_t i = begin; i < end; ++i) {
        const packing::Strip strip = s_.strips_.At(i);
        sum += output_.Sum(OutputOffset(strip, FirstChannel(block) + r), strip.pixels());
      }
      *sums++ += sum;
    }
  }

  int64_t OutputOffset(const packing::Strip& strip, int64_t channel) const {
    const auto& strides = p_.output.strides;
    return strip.image * strides[0] + channel * strides[1] + strip.depth * strides[2] + strip.row * strides[3] +
           strip.column;
  }

  // A strip of one output channel.
  void FetchOutput(const packing::Strip& strip, int64_t offset, float* to) const {
    if (s_.dot_rate_ == 0) return output_.FetchRun(offset, strip.pixels(), to);
    if (strip.columns % s_.a_term() == 0) return output_pairs_.FetchRun(offset, strip.pixels(), to);
    const int64_t terms = s_.Terms(strip) / strip.rows;
    for (int64_t row = 0; row < strip.rows; ++row) {
      output_pairs_.FetchRun(offset + row * strip.columns, strip.columns, to + row * terms);
    }
  }

  // The input under a strip, zeros where there is none.
  void FillSlab(const Block& block, const packing::Strip& strip, const WeightsScratch& scratch) const {
    const Geometry& g = p_.geometry;
    const auto& strides = p_.input.strides;
    const int64_t first_w = strip.column * g.stride[2] - g.pad_begin[2];
    const int64_t first_h = strip.row * g.stride[1] - g.pad_begin[1];
    SlabRow at{0, 0, s_.slab_pitch_ + s_.partner_};
    at.low = std::clamp<int64_t>(-first_w, 0, at.length);
    at.high = std::clamp<int64_t>(g.input_size[2] - first_w, at.low, at.length);
    float* to = scratch.slab;
    for (int64_t c = 0; c < block.channels; ++c) {
      const int64_t channel = block.group * s_.input_channels_ + block.first_channel + c;
      for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
        const int64_t d = strip.depth * g.stride[0] - g.pad_begin[0] + kd * g.dilation[0];
        for (int64_t row = 0; row < s_.slab_rows_; ++row, to += s_.slab_pitch_) {
          const int64_t h = first_h + row;
          if (d < 0 || d >= g.input_size[0] || h < 0 || h >= g.input_size[1] || at.low == at.high) {
            std::fill(to, to + s_.slab_pitch_, 0.0f);
            continue;
          }
          const int64_t offset = strip.image * strides[0] + channel * strides[1] + d * strides[2] + h * strides[3] +
                                 (first_w + at.low) * strides[4];
          s_.dot_rate_ > 0 ? FetchPairs(offset, at, scratch.line, to) : FetchRow(offset, at, scratch.line, to);
        }
      }
    }
  }

  // The positions of a slab's row, or of the numbers that it pairs, at which there is input.
  struct SlabRow {
    int64_t low, high, length;
  };

  void FetchRow(int64_t offset, const SlabRow& at, float* line, float* to) const {
    std::fill(to, to + at.low, 0.0f);
    if (p_.input.strides[4] == 1) {
      input_.FetchRun(offset, at.high - at.low, to + at.low);
    } else {
      const kernels::Segment whole{0, 0, static_cast<int32_t>(at.high - at.low)};
      input_.Fetch(offset, &whole, 1, p_.input.strides[4], at.high - at.low, line);
      std::copy(line, line + at.high - at.low, to + at.low);
    }
    std::fill(to + at.high, to + at.length, 0.0f);
  }

  void FetchPairs(int64_t offset, const SlabRow& at, float* line, float* to) const {
    uint16_t* numbers = reinterpret_cast<uint16_t*>(line);
    std::fill(numbers, numbers + at.low, uint16_t{0});
    input_pairs_.FetchNumbers(offset, p_.input.strides[4], at.high - at.low, numbers + at.low);
    std::fill(numbers + at.high, numbers + at.length, uint16_t{0});
    kernels::Lines().zip(numbers, numbers + s_.partner_, s_.slab_pitch_, to);
  }

  void CopyColumns(const Block& block, const packing::Strip& strip, const WeightsScratch& scratch, float* to) const {
    const Geometry& g = p_.geometry;
    const int64_t terms = s_.Terms(strip) / strip.rows;
    for (int64_t row = 0; row < strip.rows; ++row) {
      kernels::Lines().copy_runs(scratch.slab + row * g.stride[1] * s_.slab_pitch_, scratch.run_offsets, block.runs,
                                 s_.run_, terms, s_.a_term() * g.stride[2], to, s_.lane_step_);
      if (s_.HasOnes(block.number)) {
        float* ones = to + s_.block_columns(block.runs);
        for (int64_t i = 0; i < terms; ++i) ones[i * s_.lane_step_] = 1;
      }
      to += terms * s_.lane_step_;
    }
  }

  // Output channels [first, first + count) of a block.
  struct Rows {
    const float* at;
    int64_t stride, first, count;
  };

  // What the next product reads: `pixels` of so many channels, from `first` on, to be asked for in calls of so many
  // terms.
  struct Ahead {
    const void* first = nullptr;
    int64_t channels = 0, pixels = 0, terms = 0;
  };

  // `count` rows behind those of strip `index` before `next`, or of the strip behind it.
  Ahead ComingRows(const Block& block, int64_t index, int64_t next, int64_t count, int64_t terms) const {
    const bool same = next < block.rows;
    const packing::Strip strip = s_.strips_.At(same ? index : std::min(index + 1, s_.strips_.count() - 1));
    const int64_t first = same ? next : 0;
    return {output_.Address(OutputOffset(strip, FirstChannel(block) + first)), std::min(count, block.rows - first),
            strip.pixels(), terms};
  }

  void Multiply(const Block& block, const Rows& rows, int64_t run_count, const Ahead& ahead,
                const WeightsScratch& scratch) const {
    const int64_t bytes = numerics::ElementBytes(p_.output.dtype), channel_bytes = p_.output.strides[1] * bytes;
    int64_t asked = 0;  // channels
    const packing::LanePanels& panels = s_.panels(block.number);
    for (int64_t panel = 0; panel < panels.panels(0); ++panel) {
      const kernels::GatherTiles& tiles = panels.tiles(0, panel);
      for (int r = 0; r < tiles.most_rows; ++r) {
        scratch.row_offsets[r] = r * rows.stride;
        scratch.result_offsets[r] = r * s_.lane_step_;
      }
      kernels::GatherOperands operands{};
      operands.runs = scratch.runs;
      operands.run_count = run_count;
      operands.row_offsets = scratch.row_offsets;
      operands.b = scratch.columns + panel * panels.panel_lanes();
      operands.b_step = s_.lane_step_;
      operands.result_offsets = scratch.result_offsets;
      operands.ahead_step = kernels::kMemoryLine;
      operands.ahead_terms = ahead.pixels * bytes / kernels::kMemoryLine + 1;
      operands.ahead_row = channel_bytes;
      const int64_t share = std::max<int64_t>(1, ahead.terms / operands.ahead_terms);  // channels, of a row panel
      operands.ahead_panel = share * channel_bytes;
      const packing::RowPanels row_panels(rows.count, tiles.most_rows);
      for (int64_t p = 0; p < row_panels.count(); p += operands.panels) {
        const int64_t first = row_panels.first(p), count = row_panels.rows(p);
        const bool more = asked < ahead.channels;
        operands.panels = row_panels.Alike(p);
        if (more) operands.panels = std::min(operands.panels, base::CeilDiv(ahead.channels - asked, share));
        operands.a_panel = count * rows.stride;
        operands.c_panel = count * s_.lane_step_;
        operands.a = rows.at + first * rows.stride;
        operands.c = scratch.tiles + (rows.first + first) * s_.lane_step_ + panel * panels.panel_lanes();
        if (more) operands.ahead = static_cast<const char*>(ahead.first) + asked * channel_bytes;
        (more ? tiles.scattered_ahead : tiles.scattered)[count](operands, true);
        asked += operands.panels * share;
      }
    }
  }

  // The fixed order of the sum over segments.
  void Reduce(int64_t block_index) const {
    const int64_t floats = s_.tiles_floats();
    float* sum = partial_ + block_index * s_.segments_ * floats;
    for (int64_t segment = 1; segment < s_.segments_; ++segment) {
      kernels::Lines().add(sum + segment * floats, floats, sum);
    }
    Store(BlockAt(block_index), sum);
  }

  void Store(const Block& block, const float* tiles) const {
    const int64_t columns = s_.block_columns(block.runs);
    const kernels::Segment whole{0, 0, static_cast<int32_t>(columns)};
    const float* biases = s_.sums_ ? tiles + s_.products_floats() : tiles + columns;
    const int64_t bias_step = s_.sums_ ? 1 : s_.lane_step_;
    bool nonfinite = false;
    for (int64_t r = 0; r < block.rows; ++r, tiles += s_.lane_step_) {
      nonfinite = nonfinite || kernels::Lines().any_nonfinite(tiles, columns);
      const int64_t channel = block.group * s_.output_channels_ + block.first_row + r;
      result_.Store(channel * p_.weight_result.strides[0] + s_.block_columns(block.first_run), &whole, 1, 1, tiles);
      if (s_.HasBias(block.number) && !keep_bias_) StoreBias(p_, b_, channel, biases[r * bias_step]);
    }
    if (nonfinite) nonfinite_->store(1, std::memory_order_relaxed);
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  plan::Shares scratch_;
  LineReader input_, output_;
  PairReader input_pairs_, output_pairs_;  // with dot products
  LineWriter result_;
  bool keep_bias_ = false;
  float* partial_;
  std::atomic<int>* nonfinite_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  float* partial = segments_ > 1 ? static_cast<float*>(ledger.Fetch(workspace, partial_handle_)) : nullptr;
  WeightsRun(*this, problem, buffers, ledger.FetchEach(workspace, scratch_handle_), partial,
             ledger.Fetch(workspace, flag_handle_))
      .Run();
}

}  // namespace canopy::conv::columns
