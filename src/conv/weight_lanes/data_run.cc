// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "conv/packing/asks.h"
#include "conv/pair_reader.h"
#include "conv/tensor_lines.h"
#include "conv/weight_lanes/data_step.h"
#include "exec/pool.h"

namespace canopy::conv::weight_lanes {

// One run of one step: its buffers with the plan's numbers.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, plan::Shares scratch)
      : s_(step),
        p_(problem),
        scratch_(scratch),
        output_(buffers.output, p_.output.dtype, p_.rule),
        weight_(buffers.weight, p_.weight.dtype, p_.rule),
        output_pairs_(buffers.output, p_.output.dtype, p_.rule),
        weight_pairs_(buffers.weight, p_.weight.dtype, p_.rule),
        result_(buffers.input_result, p_.input_result.dtype, p_.rule.saturate) {
    in_place_ = s_.batch_ == 1 && calls() == 1 && s_.dot_rate_ == 0 && output_.Direct(0, 1) != nullptr;
  }

  void Run(const plan::WorkspaceLedger& ledger, void* workspace) const {
    const bool serial = s_.work_ < kSerialWork;
    const auto pack = [&](int64_t index, int, float* packed) {
      PackOutput(index / s_.OutputParts(), index % s_.OutputParts(), packed);
    };
    const packing::CommonNumbers::Run output(s_.output_, ledger, workspace, pack);
    if (!in_place_) output.Begin(serial);
    exec::ParallelFor(p_.geometry.groups * s_.blocks_.count(), serial, [&](int64_t index, int worker) {
      DataScratch scratch = s_.ScratchAt(scratch_.Of(worker), nullptr);
      if (!in_place_) scratch.output = output.Of(worker);
      Job(s_.blocks_.At(index), scratch);
    });
  }

 private:
  int64_t rows() const { return s_.batch_ * s_.pixels_; }

  // Rows of a tile call.
  struct Rows {
    int64_t first, count;
  };
  int64_t calls() const { return base::CeilDiv(rows(), s_.blocks_.most_rows()); }
  Rows RowsOf(int64_t call) const {
    const int64_t first = call * rows() / calls();
    return {first, (call + 1) * rows() / calls() - first};
  }

  // packed[group][call][term][row of the call]: a call's factors are read in the order in which they stand.
  void PackOutput(int64_t group, int64_t part, float* packed) const {
    const int64_t terms = s_.Terms(s_.output_channels_), first = part * DataStep::kTermsAPart;
    const int64_t count = std::min(terms - first, DataStep::kTermsAPart);
    for (int64_t call = 0; call < calls(); ++call) {
      const Rows of = RowsOf(call);
      PackRows(group, {first, count}, of, packed + group * terms * rows() + of.first * terms + first * of.count);
    }
  }

  struct TermRange {
    int64_t first, count;
  };

  void PackRows(int64_t group, const TermRange& terms, const Rows& of, float* to) const {
    const auto& strides = p_.output.strides;
    const int64_t channel = group * s_.output_channels_ + terms.first * s_.a_term();
    const float* channels = output_.Direct(channel * strides[1], strides[1]);
    if (s_.pixels_ == 1 && !s_.paired() && channels != nullptr) {
      return kernels::Lines().interleave(channels + of.first * strides[0], strides[0], of.count, terms.count, to);
    }
    for (int64_t row = of.first, run; row < of.first + of.count; row += run, to += run) {
      const int64_t pixel = row % s_.pixels_;
      run = std::min(of.first + of.count - row, s_.pixels_ - pixel);
      const int64_t offset = row / s_.pixels_ * strides[0] + pixel + channel * strides[1];
      if (s_.dot_rate_ == 0) {
        output_.CopyRows(offset, strides[1], terms.count, run, to, of.count);
        continue;
      }
      for (int64_t i = 0; i < terms.count; ++i) {
        const bool alone = (terms.first + i) * s_.a_term() + 1 == s_.output_channels_;
        output_pairs_.FetchLine(offset + i * s_.a_term() * strides[1], strides[1], alone, 1, run, to + i * of.count);
      }
    }
  }

  void Job(const Block& block, const DataScratch& scratch) const {
    if (s_.whole_) return WholeJob(block, scratch);
    ListProducts(scratch);
    Multiply(block, {0, block.lanes}, scratch.products, scratch);
    for (int64_t n = 0; n < s_.batch_; ++n) {
      for (int64_t c = 0; c < block.channels; c += s_.unit_) {
        const int64_t channels = std::min(s_.unit_, block.channels - c);
        if (s_.summed_) {
          Store(n, block, c, channels, scratch.products + n * s_.blocks_.lane_step() + c * s_.taps_, s_.taps_,
                scratch.line);
        } else {
          AddProducts(n, c, channels, scratch);
          Store(n, block, c, channels, scratch.sums, s_.sum_floats(), scratch.line);
        }
      }
    }
  }

  // Products are results: whole vectors are written where they belong, if they may be.
  void WholeJob(const Block& block, const DataScratch& scratch) const {
    const int64_t image = p_.input_result.strides[0], step = s_.blocks_.lane_step();
    const int64_t channel = block.group * p_.geometry.group_input_channels() + block.first;
    const int64_t offset = channel * s_.taps_, vector = s_.blocks_.vector_lanes();
    float* direct = result_.Direct(offset, 1);
    if (s_.weighs_) return Weigh(block, direct, scratch);
    const Lanes whole{0, direct == nullptr ? 0 : block.lanes / vector * vector}, rest{whole.end, block.lanes};
    for (int64_t n = 0; n < s_.batch_; ++n) scratch.result_offsets[n] = n * image;
    if (whole.end > 0) Multiply(block, whole, direct, scratch);
    if (rest.begin == rest.end) return;
    for (int64_t n = 0; n < s_.batch_; ++n) scratch.result_offsets[n] = n * step;
    Multiply(block, rest, scratch.products, scratch);
    const kernels::Segment segment{0, 0, static_cast<int32_t>(rest.end - rest.begin)};
    for (int64_t n = 0; n < s_.batch_; ++n) {
      result_.Store(n * image + offset + rest.begin, &segment, 1, 1, scratch.products + n * step + rest.begin);
    }
  }

  // One pixel of output weighs the rows of weights, which come from afar fastest as they stand. The order of a sum is
  // that of tiles.
  void Weigh(const Block& block, float* to, const DataScratch& scratch) const {
    const int64_t stride = p_.weight.strides[0], factor_step = p_.output.strides[1], beginning = 0;
    for (int64_t k = 0; k < s_.output_channels_; k += s_.chunk_) {
      const int64_t outputs = std::min(s_.chunk_, s_.output_channels_ - k);
      const int64_t channel = block.group * s_.output_channels_ + k;
      const float* weights = weight_.Direct(channel * stride + block.first * s_.taps_, 1);
      float* sums = k == 0 ? to : scratch.products;
      kernels::Lines().weigh_rows(weights, stride, outputs, output_.Direct(channel * factor_step, 1), factor_step,
                                  block.lanes, sums);
      if (k > 0) kernels::Lines().add_rows(sums, 0, 1, block.lanes, to, &beginning);
    }
  }

  // Where the products of each pixel go; the positions between rows of pixels hold zeros.
  void ListProducts(const DataScratch& scratch) const {
    const Extent3& size = p_.geometry.output_size;
    const int64_t step = s_.blocks_.lane_step();
    int64_t* offsets = scratch.result_offsets;
    int64_t filled = 0;
    const auto clear_to = [&](int64_t position) {
      std::fill(scratch.products + filled * step, scratch.products + position * step, 0.0f);
    };
    for (int64_t n = 0; n < s_.batch_; ++n) {
      for (int64_t d = 0; d < size[0]; ++d) {
        for (int64_t h = 0; h < size[1]; ++h) {
          const int64_t first = n * s_.positions() + s_.shifts_.Position({d, h, 0});
          clear_to(first);
          for (int64_t w = 0; w < size[2]; ++w) *offsets++ = (first + w) * step;
          filled = first + size[2];
        }
      }
    }
    clear_to(s_.batch_ * s_.positions());
  }

  // Of a block.
  struct Lanes {
    int64_t begin, end;
  };

  void Multiply(const Block& block, const Lanes& lanes, float* products, const DataScratch& scratch) const {
    for (int64_t k = 0; k < s_.output_channels_; k += s_.chunk_) MultiplyChunk(block, lanes, k, products, scratch);
  }

  // Adds the terms of output channels from `k`.
  void MultiplyChunk(const Block& block, const Lanes& of, int64_t k, float* products,
                     const DataScratch& scratch) const {
    const int64_t outputs = std::min(s_.chunk_, s_.output_channels_ - k), stride = p_.weight.strides[0];
    const int64_t channel = block.group * s_.output_channels_ + k;
    const int64_t offset = channel * stride + block.first * s_.taps_, panel = s_.blocks_.panel_lanes();
    if (s_.paired()) PackPairs(offset, k, outputs, block.lanes, scratch.weights);
    const kernels::GatherRun run{0, 0, s_.Terms(outputs)};
    kernels::GatherOperands operands{};
    operands.runs = &run;
    operands.run_count = 1;
    operands.a = in_place_ ? output_.Direct(channel * p_.output.strides[1], 1)
                           : scratch.output + block.group * s_.Terms(s_.output_channels_) * rows();
    operands.a_step = p_.output.strides[1];
    operands.b_copy = scratch.weights;
    operands.b_copy_step = panel;
    operands.result_offsets = scratch.result_offsets;
    for (int64_t lane = of.begin; lane < of.end; lane += panel) {
      const int64_t lanes = std::min(panel, of.end - lane);
      const bool in_place = !s_.paired() && lanes % s_.blocks_.vector_lanes() == 0;
      const float* direct = in_place ? weight_.Direct(offset + lane, 1) : nullptr;
      operands.b = scratch.weights + (s_.paired() ? lane : 0);
      operands.b_step = s_.paired() ? s_.blocks_.lane_step() : panel;
      operands.c = products + lane;
      if (!s_.paired() && direct == nullptr) {
        weight_.CopyRows(offset + lane, stride, outputs, lanes, scratch.weights, panel);
      }
      // Meanwhile the next panel: output channels are too far apart for the processor to foresee.
      const bool more = !s_.paired() && lane + panel < of.end;
      const void* coming = more ? weight_.Address(offset + lane + panel) : nullptr;
      MultiplyPanel(s_.blocks_.tiles(lanes), operands, k, direct, coming);
    }
  }

  // A panel of weights in place, which the first pixels' product copies on its way, or of packed ones, of output
  // channels from `k`. `coming` is the next panel, nullptr where there is none.
  void MultiplyPanel(const kernels::GatherTiles& tiles, const kernels::GatherOperands& panel, int64_t k,
                     const float* in_place, const void* coming) const {
    const int64_t step = p_.weight.strides[0] * numerics::ElementBytes(p_.weight.dtype);
    const packing::Asks asks(panel.runs[0].terms, calls(), packing::AskTimes(panel.runs[0].terms));
    for (int64_t call = 0; call < calls(); ++call) {
      const Rows of = RowsOf(call);
      const bool copying = call == 0 && in_place != nullptr;
      kernels::GatherOperands operands = panel;
      if (!in_place_) {
        operands.a += of.first * s_.Terms(s_.output_channels_) + s_.Terms(k) * of.count;
        operands.a_step = of.count;
      }
      operands.result_offsets += of.first;
      if (coming != nullptr) asks.Assign(call, coming, step, &operands);
      if (copying) {
        operands.b = in_place;
        operands.b_step = p_.weight.strides[0];
      }
      const kernels::GatherGemmFn* by_rows = copying && calls() > 1 ? +tiles.adjacent_copying : +tiles.adjacent;
      by_rows[of.count](operands, k > 0);
    }
  }

  void PackPairs(int64_t offset, int64_t k, int64_t outputs, int64_t lanes, float* to) const {
    const int64_t stride = p_.weight.strides[0];
    for (int64_t i = 0; i < outputs; i += s_.a_term(), to += s_.blocks_.lane_step()) {
      weight_pairs_.FetchLine(offset + i * stride, stride, k + i + 1 == s_.output_channels_, 1, lanes, to);
    }
  }

  // The sums of `channels` of the block's input channels from `first` on, for one image.
  void AddProducts(int64_t image, int64_t first, int64_t channels, const DataScratch& scratch) const {
    const Geometry& g = p_.geometry;
    const int64_t positions = s_.positions();
    int64_t tap = 0;
    // Rows in the order of taps: neighbours then add to sums of different channels, and none waits for another.
    for (int64_t d = 0; d < g.kernel[0]; ++d) {
      for (int64_t h = 0; h < g.kernel[1]; ++h) {
        for (int64_t w = 0; w < g.kernel[2]; ++w, ++tap) {
          const int64_t shift = s_.shifts_.Sum({d * g.dilation[0], h * g.dilation[1], w * g.dilation[2]});
          for (int64_t c = 0; c < channels; ++c) {
            scratch.turned_offsets[c * s_.taps_ + tap] = (tap * channels + c) * positions;
            scratch.sum_offsets[tap * channels + c] = c * s_.sum_floats() + shift;
          }
        }
      }
    }
    const int64_t step = s_.blocks_.lane_step();
    kernels::Lines().transpose(scratch.products + image * positions * step + first * s_.taps_, step, positions,
                               channels * s_.taps_, scratch.turned, scratch.turned_offsets);
    std::fill(scratch.sums, scratch.sums + channels * s_.sum_floats(), 0.0f);
    kernels::Lines().add_rows(scratch.turned, positions, channels * s_.taps_, s_.shifts_.run, scratch.sums,
                              scratch.sum_offsets);
  }

  // Sums of channel after channel, `step` apart.
  void Store(int64_t image, const Block& block, int64_t first, int64_t channels, const float* sums, int64_t step,
             float* line) const {
    const Geometry& g = p_.geometry;
    const auto& strides = p_.input_result.strides;
    const int64_t channel = block.group * g.group_input_channels() + block.first + first;
    const bool direct = s_.shifts_.stride == Extent3{1, 1, 1} && result_.Direct(0, strides[4]) != nullptr;
    for (int64_t c = 0; c < channels; ++c, sums += step) {
      const int64_t offset = image * strides[0] + (channel + c) * strides[1];
      for (int64_t d = 0; d < g.input_size[0]; ++d) {
        if (direct) {
          const float* from = sums + s_.shifts_.Position({d + g.pad_begin[0], g.pad_begin[1], g.pad_begin[2]});
          kernels::Lines().copy_rows(from, s_.shifts_.extent[2], g.input_size[1], g.input_size[2],
                                     result_.Direct(offset + d * strides[2], 1), strides[3]);
          continue;
        }
        for (int64_t h = 0; h < g.input_size[1]; ++h) {
          StoreRow(sums + s_.shifts_.Sum({d + g.pad_begin[0], h + g.pad_begin[1], 0}),
                   offset + d * strides[2] + h * strides[3], line);
        }
      }
    }
  }

  // A row of sums, its phases interleaved.
  void StoreRow(const float* from, int64_t offset, float* line) const {
    const Geometry& g = p_.geometry;
    const kernels::Segment whole{0, 0, static_cast<int32_t>(g.input_size[2])};
    const int64_t phases = s_.shifts_.stride[2];
    if (phases > 1) {
      kernels::Lines().interleave(from, s_.shifts_.plane(), phases, s_.shifts_.extent[2], line);
      from = line;
    }
    result_.Store(offset, &whole, 1, p_.input_result.strides[4], from + g.pad_begin[2]);
  }

  const DataStep& s_;
  const ConvProblem& p_;
  plan::Shares scratch_;
  LineReader output_, weight_;
  PairReader output_pairs_, weight_pairs_;  // with dot products
  LineWriter result_;
  bool in_place_;  // the output is multiplied where it stands
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  DataRun(*this, problem, buffers, ledger.FetchEach(workspace, scratch_handle_)).Run(ledger, workspace);
}

}  // namespace canopy::conv::weight_lanes
