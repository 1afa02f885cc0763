// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "conv/grid.h"
#include "conv/nonfinite.h"
#include "conv/packing/row_panels.h"
#include "conv/tensor_lines.h"
#include "conv/weight_lanes/forward_step.h"
#include "conv/weight_lanes/limits.h"
#include "exec/pool.h"
#include "kernels/ask.h"
#include "kernels/dots/contract.h"

namespace canopy::conv::weight_lanes {

// One run of one step: its buffers with the plan's numbers.
class ForwardRun {
 public:
  ForwardRun(const ForwardStep& step, const ConvProblem& problem, const Buffers& buffers, plan::Shares scratch)
      : s_(step),
        p_(problem),
        b_(buffers),
        scratch_(scratch),
        input_(buffers.input, p_.input.dtype, p_.rule),
        weight_(buffers.weight, p_.weight.dtype, p_.rule),
        result_(buffers.output_result, p_.output_result.dtype, p_.rule.saturate) {}

  void Run(const plan::WorkspaceLedger& ledger, void* workspace) {
    const bool serial = s_.work_ < kSerialWork;
    const auto make = [&](int64_t channel, int worker, float* columns) {
      MakeColumns(channel, s_.ScratchAt(scratch_.Of(worker), nullptr).slab, columns);
    };
    const packing::CommonNumbers::Run columns(s_.columns_, ledger, workspace, make);
    columns.Begin(serial);
    std::atomic<bool> nonfinite{false};
    const auto multiply = [&] {
      exec::ParallelFor(p_.geometry.groups * s_.blocks_, serial, [&](int64_t index, int worker) {
        const ForwardScratch scratch = s_.ScratchAt(scratch_.Of(worker), nullptr);
        if (!Job(index / s_.blocks_, index % s_.blocks_, columns.Of(worker), scratch)) nonfinite = true;
      });
    };
    multiply();
    // A zero of the padding makes a NaN of a weight that is not finite and that the definition does not multiply.
    if (!nonfinite || !MeetsPadding(p_.geometry)) return;
    weight_.TakeFiniteOnly();
    multiply();
    AddNonfiniteWeightTerms(p_, kForward, b_, serial);
  }

 private:
  // All taps of a channel.
  void MakeColumns(int64_t channel, float* slab, float* columns) const {
    const Geometry& g = p_.geometry;
    const packing::LanePanels& panels = s_.panels_;
    const int64_t width = panels.panel_lanes(), first = channel % s_.input_channels_ * s_.taps_;
    std::fill_n(slab, s_.batch_ * s_.slab_.floats(), 0.0f);
    for (int64_t n = 0; n < s_.batch_; ++n) {
      s_.slab_.Fill(input_, p_.input, n * p_.input.strides[0] + channel * p_.input.strides[1],
                    slab + n * s_.slab_.floats());
    }
    const int64_t step = s_.dots_ ? 1 : width;  // from column to column
    columns += channel / s_.input_channels_ * s_.GroupFloats() + first * step;
    float line[2 * kMostPixels] = {};  // panels are whole
    for (int64_t tap = 0; tap < s_.taps_; ++tap, columns += step) {
      const Extent3 at = {tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1], tap % g.kernel[2]};
      FetchColumn(slab + s_.slab_.Position({at[0] * g.dilation[0], at[1] * g.dilation[1], at[2] * g.dilation[2]}),
                  line);
      if (s_.dots_) {
        for (int64_t i = 0; i < s_.pixels_; ++i) columns[i * s_.terms()] = line[i];
        continue;
      }
      for (int64_t panel = 0; panel < panels.panels(0); ++panel) {
        std::copy_n(line + panel * width, width, columns + panel * s_.terms() * width);
      }
    }
  }

  // What all pixels meet under a tap, of which the first pixel meets `from`.
  void FetchColumn(const float* from, float* to) const {
    const Extent3 &size = p_.geometry.output_size, &stride = p_.geometry.stride;
    for (int64_t n = 0; n < s_.batch_; ++n, from += s_.slab_.floats()) {
      for (int64_t d = 0; d < size[0]; ++d) {
        for (int64_t h = 0; h < size[1]; ++h, to += size[2]) {
          const float* row = from + s_.slab_.Position({d * stride[0], h * stride[1], 0});
          for (int64_t w = 0; w < size[2]; ++w) to[w] = row[w * stride[2]];
        }
      }
    }
  }

  // Weights of a block's rows.
  struct Rows {
    const float* first;
    int64_t stride;
    bool in_place;
  };

  // Whether all results are finite.
  bool Job(int64_t group, int64_t block, const float* columns, const ForwardScratch& scratch) const {
    const int64_t first = block * s_.block_, count = std::min(s_.block_, s_.output_channels_ - first);
    const int64_t channel = group * s_.output_channels_ + first;
    if (s_.dots_) std::fill_n(scratch.sums, count * s_.lanes(), 0.0f);
    for (int64_t k = 0; k < s_.terms(); k += s_.chunk_) {
      const int64_t terms = std::min(s_.chunk_, s_.terms() - k);
      const float* direct = weight_.Direct(channel * p_.weight.strides[0] + k, 1);
      Rows rows{direct, p_.weight.strides[0], true};
      if (direct == nullptr) rows = Copy(channel, count, {k, terms}, scratch.rows);
      const float* of_group = columns + group * s_.GroupFloats();
      s_.dots_ ? AddDots(rows, count, {k, terms}, of_group, scratch.sums)
               : Multiply(rows, count, {k, terms}, of_group, scratch.sums);
    }
    Store(channel, count, scratch.sums);
    return !kernels::Lines().any_nonfinite(scratch.sums, count * s_.lanes());
  }

  struct Terms {
    int64_t first, count;
  };

  Rows Copy(int64_t channel, int64_t count, const Terms& terms, float* to) const {
    for (int64_t r = 0; r < count; ++r) {
      weight_.FetchRun((channel + r) * p_.weight.strides[0] + terms.first, terms.count, to + r * s_.copied_stride());
    }
    return {to, s_.copied_stride(), false};
  }

  // sums (+)= a chunk's products. The first panel's calls ask for the weights that come next: the processor foresees
  // only what lies in one row.
  void Multiply(const Rows& rows, int64_t count, const Terms& terms, const float* columns, float* sums) const {
    const packing::LanePanels& panels = s_.panels_;
    const packing::RowPanels row_panels(count, s_.rows_);
    const kernels::GatherRun run{0, 0, terms.count};
    int64_t row_offsets[kernels::GatherTiles::kMostRows], result_offsets[kernels::GatherTiles::kMostRows];
    for (int64_t r = 0; r < kernels::GatherTiles::kMostRows; ++r) {
      row_offsets[r] = r * rows.stride;
      result_offsets[r] = r * s_.lanes();
    }
    constexpr int64_t kLineFloats = kernels::kMemoryLine / static_cast<int64_t>(sizeof(float));
    kernels::GatherOperands operands{};
    operands.runs = &run;
    operands.run_count = 1;
    operands.row_offsets = row_offsets;
    operands.b_step = panels.panel_lanes();
    operands.result_offsets = result_offsets;
    operands.ahead_step = kernels::kMemoryLine;
    operands.ahead_terms = base::CeilDiv(terms.count, kLineFloats);
    operands.ahead_row = rows.stride * static_cast<int64_t>(sizeof(float));
    for (int64_t panel = 0; panel < panels.panels(0); ++panel) {
      const kernels::GatherTiles& tiles = panels.tiles(0, panel);
      operands.b = columns + (panel * s_.terms() + terms.first) * panels.panel_lanes();
      const bool asks = panel == 0 && rows.in_place;
      for (int64_t p = 0; p < row_panels.count(); ++p) {
        operands.a = rows.first + row_panels.first(p) * rows.stride;
        operands.c = sums + row_panels.first(p) * s_.lanes() + panel * panels.panel_lanes();
        const bool last = p + 1 == row_panels.count();
        operands.ahead = last ? rows.first + terms.count : operands.a + row_panels.rows(p) * rows.stride;
        (asks ? tiles.scattered_ahead : tiles.scattered)[row_panels.rows(p)](operands, terms.first > 0);
      }
    }
  }

  // sums += a chunk's dot products.
  void AddDots(const Rows& rows, int64_t count, const Terms& terms, const float* columns, float* sums) const {
    const kernels::DotsKernels& dots = kernels::Dots();
    float vectors[kernels::kMostDotsRows * kernels::kMostDotsColumns * ForwardStep::kMostDotsLanes];
    float products[kernels::kMostDotsRows * kernels::kMostDotsColumns];
    int64_t offsets[kernels::kMostDotsColumns];
    for (int64_t i = 0; i < s_.pixels_; ++i) offsets[i] = i * s_.terms();
    kernels::DotsCall call{};
    call.a_row = rows.stride;
    call.b = columns + terms.first;
    call.b_offsets = offsets;
    call.vectors = terms.count / dots.lanes;
    call.sums = vectors;
    call.sums_row = s_.pixels_ * dots.lanes;
    call.first = true;
    call.ahead[0] = call.ahead[1] = reinterpret_cast<const char*>(rows.first);
    for (int64_t first = 0, some; first < count; first += some) {
      some = std::min<int64_t>(dots.most_rows(), count - first);
      call.a = rows.first + first * rows.stride;
      dots.dots[some][s_.pixels_](call);
      dots.reduce(vectors, some * s_.pixels_, products);
      for (int64_t i = 0; i < some * s_.pixels_; ++i) {
        sums[(first + i / s_.pixels_) * s_.lanes() + i % s_.pixels_] += products[i];
      }
    }
  }

  void Store(int64_t channel, int64_t count, const float* sums) const {
    const auto& strides = p_.output_result.strides;
    const int64_t batch = p_.geometry.batch, plane = s_.pixels_ / batch;
    const kernels::Segment whole{0, 0, static_cast<int32_t>(plane)};
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t r = 0; r < count; ++r) {
        result_.Store(n * strides[0] + (channel + r) * strides[1], &whole, 1, 1, sums + r * s_.lanes() + n * plane);
      }
    }
  }

  const ForwardStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  plan::Shares scratch_;
  LineReader input_, weight_;
  LineWriter result_;
};

void ForwardStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  ForwardRun(*this, problem, buffers, ledger.FetchEach(workspace, scratch_handle_)).Run(ledger, workspace);
}

}  // namespace canopy::conv::weight_lanes
