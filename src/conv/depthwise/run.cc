// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "conv/depthwise/step.h"
#include "conv/elements.h"
#include "exec/pool.h"
#include "numerics/rounding.h"

namespace canopy::conv::depthwise {
namespace {

// Calls visit(laws) for every combination of one law of each axis.
template <class F>
void ForEachCombination(const LawLists& lists, const F& visit) {
  for (const AxisLaw& d : lists[0]) {
    for (const AxisLaw& h : lists[1]) {
      for (const AxisLaw& w : lists[2]) visit(AxisLaws{d, h, w});
    }
  }
}

Slab WithChannel(Slab slab, int64_t channel) {
  slab.origin += channel * slab.channel_pitch;
  return slab;
}

LaneTensor TensorOf(const Operand& operand, int64_t group_channels) {
  return {operand.strides, group_channels * operand.strides[1], 0};
}

Box KernelBox(const Geometry& g) { return {Range{0, g.kernel[0]}, Range{0, g.kernel[1]}, Range{0, g.kernel[2]}}; }

}  // namespace

// Forward and backward data.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
          void* workspace)
      : s_(step),
        p_(problem),
        b_(buffers),
        ledger_(ledger),
        workspace_(workspace),
        layout_(step.layout_),
        source_(s_.forward_ ? p_.input : p_.output),
        result_(s_.forward_ ? p_.output_result : p_.input_result),
        source_reader_(s_.forward_ ? b_.input : b_.output, source_.dtype, p_.rule),
        weight_reader_(b_.weight, p_.weight.dtype, p_.rule),
        writer_(s_.forward_ ? b_.output_result : b_.input_result, result_.dtype, p_.rule.saturate),
        packed_(static_cast<float*>(ledger.Fetch(workspace, s_.packed_handle_))),
        nonfinite_(static_cast<int*>(ledger.Fetch(workspace, s_.flags_handle_))) {}

  void Run() const {
    const bool serial = s_.work_ < kSerialWork;
    const int64_t channels = layout_.piece_channels(), pieces = layout_.pieces();
    const sheets::LaneLayout& lanes = layout_.lanes();
    exec::ParallelFor(lanes.group_blocks * channels, serial,
                      [&](int64_t index, int worker) { PackWeights(index / channels, index % channels, worker); });
    exec::ParallelFor(lanes.group_blocks * lanes.image_blocks * pieces, serial, [&](int64_t index, int worker) {
      const int64_t block = index / pieces;
      Job(block / lanes.image_blocks, block % lanes.image_blocks, layout_.Piece(index % pieces), worker);
    });
  }

 private:
  SlabShape PackedShape() const {
    return SlabShape(KernelBox(p_.geometry), layout_.source_channels(), layout_.vector_lanes(), 0, {});
  }
  float* Packed(int64_t group_block, int64_t channel) const {
    return packed_ + group_block * s_.packed_floats_ + channel * (s_.packed_floats_ / layout_.piece_channels());
  }

  // All weights of one result channel of each group, source channel by source channel.
  void PackWeights(int64_t group_block, int64_t channel, int worker) const {
    const auto& strides = p_.weight.strides;
    LaneTensor tensor{strides, p_.geometry.group_output_channels() * strides[0],
                      channel * strides[s_.forward_ ? 0 : 1]};
    tensor.strides[0] = 0;
    tensor.strides[1] = strides[s_.forward_ ? 1 : 0];
    const ThreadScratch scratch = s_.threads_.At(ledger_, workspace_, worker);
    const LaneScratch lines(scratch.lines, layout_.vector_lanes());
    const SlabShape shape = PackedShape();
    float* packed = Packed(group_block, channel);
    FetchLanes(weight_reader_, tensor, layout_.lanes().At(group_block, 0), shape, lines, packed);
    nonfinite_[group_block * layout_.piece_channels() + channel] =
        layout_.margins() && kernels::Lines().any_nonfinite(packed, shape.floats) ? 1 : 0;
  }

  void Job(int64_t group_block, int64_t image_block, const Box& piece, int worker) const {
    const ThreadScratch scratch = s_.threads_.At(ledger_, workspace_, worker);
    const LaneScratch lines(scratch.lines, layout_.vector_lanes());
    const sheets::LaneBlock block = layout_.lanes().At(group_block, image_block);
    const SlabShape source = layout_.SourceShape(piece), result = layout_.PieceShape(piece);
    source.ClearMargins(scratch.source);
    FetchLanes(source_reader_, TensorOf(source_, layout_.source_channels()), block, source, lines, scratch.source);
    if (layout_.gaps()) std::memset(scratch.piece, 0, static_cast<size_t>(result.floats) * sizeof(float));
    for (int64_t channel = 0; channel < layout_.piece_channels(); ++channel) {
      Correlation c;
      c.source = source.At(scratch.source);
      c.taps = PackedShape().At(Packed(group_block, channel));
      c.result = WithChannel(result.At(scratch.piece), channel);
      c.channels = layout_.source_channels();
      // One row at a time reads no margin, whose zeros would turn an infinite weight into NaN.
      const bool exact = nonfinite_[group_block * layout_.piece_channels() + channel] != 0;
      ForEachCombination(layout_.laws(), [&](const AxisLaws& laws) {
        for (int axis = 0; axis < 3; ++axis) {
          c.laws[axis] = laws[axis].WithResults(piece[axis]).WithSources(source.box[axis]);
        }
        Correlate(c, layout_.choice().order, layout_.kernels(), exact ? 1 : layout_.choice().rows, scratch.columns);
      });
      if (p_.has_bias) AddBias(block, channel, result, c.result.origin);
    }
    StoreLanes(writer_, TensorOf(result_, layout_.piece_channels()), block, result, lines, scratch.piece);
  }

  void AddBias(const sheets::LaneBlock& block, int64_t channel, const SlabShape& shape, float* to) const {
    float bias[kernels::kMostLanes] = {};
    for (int64_t l = 0; l < block.lanes(); ++l) {
      const int64_t whole = (block.first_group + l % block.groups) * layout_.piece_channels() + channel;
      bias[l] = LoadBias(p_, b_, whole);
    }
    for (float* end = to + shape.channel_pitch; to < end; to += shape.lanes) {
      for (int64_t l = 0; l < shape.lanes; ++l) to[l] += bias[l];
    }
  }

  const DataStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  const plan::WorkspaceLedger& ledger_;
  void* workspace_;
  const PieceLayout& layout_;
  const Operand &source_, &result_;
  LineReader source_reader_, weight_reader_;
  LineWriter writer_;
  float* packed_;
  int* nonfinite_;  // by lane block and result channel
};

class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers,
             const plan::WorkspaceLedger& ledger, void* workspace)
      : s_(step),
        p_(problem),
        ledger_(ledger),
        workspace_(workspace),
        layout_(step.layout_),
        input_(buffers.input, p_.input.dtype, p_.rule),
        output_(buffers.output, p_.output.dtype, p_.rule),
        writer_(buffers.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        sums_(static_cast<float*>(ledger.Fetch(workspace, s_.sums_handle_))) {}

  void Run() const {
    const bool serial = s_.work_ < kSerialWork;
    const int64_t blocks = layout_.lanes().group_blocks;
    exec::ParallelFor(blocks * s_.segments_, serial,
                      [&](int64_t index, int worker) { Sum(index / s_.segments_, index % s_.segments_, worker); });
    exec::ParallelFor(blocks, serial, [&](int64_t block, int worker) { Store(block, worker); });
  }

 private:
  float* Sums(int64_t group_block, int64_t segment) const {
    return sums_ + (group_block * s_.segments_ + segment) * s_.result_floats_;
  }

  void Sum(int64_t group_block, int64_t segment, int worker) const {
    float* sums = Sums(group_block, segment);
    SumItems(group_block, segment, worker, layout_.choice().rows, sums);
    // A zero of the margins times an infinite gradient is NaN; one row at a time reads no margin.
    if (layout_.margins() && kernels::Lines().any_nonfinite(sums, s_.result_floats_)) {
      SumItems(group_block, segment, worker, 1, sums);
    }
  }

  void SumItems(int64_t group_block, int64_t segment, int worker, int rows, float* sums) const {
    std::memset(sums, 0, static_cast<size_t>(s_.result_floats_) * sizeof(float));
    const int64_t begin = segment * s_.items_ / s_.segments_, end = (segment + 1) * s_.items_ / s_.segments_;
    for (int64_t item = begin; item < end; ++item) {
      const sheets::LaneBlock block = layout_.lanes().At(group_block, item / layout_.pieces());
      AddItem(block, layout_.Piece(item % layout_.pieces()), rows, worker, sums);
    }
  }

  void AddItem(const sheets::LaneBlock& block, const Box& piece, int rows, int worker, float* sums) const {
    const ThreadScratch scratch = s_.threads_.At(ledger_, workspace_, worker);
    const LaneScratch lines(scratch.lines, layout_.vector_lanes());
    const SlabShape source = layout_.SourceShape(piece), taps = layout_.PieceShape(piece);
    source.ClearMargins(scratch.source);
    FetchLanes(input_, TensorOf(p_.input, layout_.source_channels()), block, source, lines, scratch.source);
    FetchLanes(output_, TensorOf(p_.output, layout_.piece_channels()), block, taps, lines, scratch.piece);
    Correlation c;
    c.accumulate = true;
    for (int axis = 0; axis < 3; ++axis) {
      c.laws[axis] = layout_.laws()[axis][0].WithTaps(piece[axis]).WithSources(source.box[axis]);
    }
    for (int64_t co = 0; co < layout_.piece_channels(); ++co) {
      for (int64_t ci = 0; ci < layout_.source_channels(); ++ci) {
        c.source = WithChannel(source.At(scratch.source), ci);
        c.taps = WithChannel(taps.At(scratch.piece), co);
        c.result = s_.result_shape_.At(sums + (co * layout_.source_channels() + ci) * s_.result_shape_.floats);
        Correlate(c, layout_.choice().order, layout_.kernels(), rows, scratch.columns);
      }
    }
  }

  // Segments, then images, in their order.
  void Store(int64_t group_block, int worker) const {
    float* sums = Sums(group_block, 0);
    for (int64_t segment = 1; segment < s_.segments_; ++segment) {
      kernels::Lines().add(Sums(group_block, segment), s_.result_floats_, sums);
    }
    sheets::LaneBlock block = layout_.lanes().At(group_block, 0);
    for (float* at = sums; block.images > 1 && at < sums + s_.result_floats_; at += layout_.vector_lanes()) {
      for (int64_t l = block.groups; l < block.lanes(); ++l) at[l % block.groups] += at[l];
    }
    block.images = 1;
    const ThreadScratch scratch = s_.threads_.At(ledger_, workspace_, worker);
    const LaneScratch lines(scratch.lines, layout_.vector_lanes());
    const auto& strides = p_.weight_result.strides;
    for (int64_t co = 0; co < layout_.piece_channels(); ++co) {
      for (int64_t ci = 0; ci < layout_.source_channels(); ++ci) {
        LaneTensor tensor{strides, layout_.piece_channels() * strides[0], co * strides[0] + ci * strides[1]};
        tensor.strides[0] = 0;
        StoreLanes(writer_, tensor, block, s_.result_shape_, lines,
                   sums + (co * layout_.source_channels() + ci) * s_.result_shape_.floats);
      }
    }
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  const plan::WorkspaceLedger& ledger_;
  void* workspace_;
  const PieceLayout& layout_;
  LineReader input_, output_;
  LineWriter writer_;
  float* sums_;
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  DataRun(*this, problem, buffers, ledger, workspace).Run();
}

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  WeightsRun(*this, problem, buffers, ledger, workspace).Run();
}

}  // namespace canopy::conv::depthwise
