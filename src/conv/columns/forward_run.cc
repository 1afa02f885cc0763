// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked_math.h"
#include "conv/columns/forward_step.h"
#include "conv/kernel_rows.h"
#include "conv/nonfinite.h"
#include "conv/packing/asks.h"
#include "conv/packing/row_panels.h"
#include "conv/sheets/sheet.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"

namespace canopy::conv::columns {

// One run of one step: its buffers with the plan's numbers.
class ForwardRun {
 public:
  ForwardRun(const ForwardStep& step, const ConvProblem& problem, const Buffers& buffers, float* packed,
             plan::Shares scratch)
      : s_(step),
        p_(problem),
        b_(buffers),
        packed_(packed),
        scratch_(scratch),
        input_(b_.input, p_.input.dtype, p_.rule),
        input_planes_(b_.input, p_.input, p_.rule),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        result_(b_.output_result, p_.output_result.dtype, p_.rule.saturate),
        panels_(s_.output_channels_, s_.most_rows()) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    const bool nonfinite = PackAllWeights(serial);
    // A zero of the padding makes a NaN of a weight that is not finite and that the definition does not multiply.
    if (nonfinite) {
      weight_.TakeFiniteOnly();
      PackAllWeights(serial);
    }
    const int64_t strips = s_.cut_.strips.count();
    exec::ParallelFor(p_.geometry.groups * strips, serial, [&](int64_t index, int worker) {
      Job(index / strips, s_.cut_.strips.At(index % strips), s_.ScratchAt(scratch_.Of(worker), nullptr));
    });
    if (nonfinite) AddNonfiniteWeightTerms(p_, kForward, b_, serial);
  }

 private:
  int64_t GroupFloats() const { return s_.output_channels_ * s_.columns(); }

  // packed[group][row panel][column][row]; whether one is not finite.
  bool PackAllWeights(bool serial) const {
    const int64_t groups = p_.geometry.groups, columns = s_.columns(), stride = p_.weight.strides[0];
    exec::ParallelFor(groups, serial, [&](int64_t group, int worker) {
      float* line = s_.ScratchAt(scratch_.Of(worker), nullptr).columns;
      for (int64_t panel = 0; panel < panels_.count(); ++panel) {
        const int64_t first = panels_.first(panel), rows = panels_.rows(panel);
        for (int64_t r = 0; r < rows; ++r) {
          FetchKernels(weight_, p_, (group * s_.output_channels_ + first + r) * stride, s_.input_channels_,
                       line + r * columns);
        }
        kernels::Lines().interleave(line, columns, rows, columns, packed_ + group * GroupFloats() + first * columns);
      }
    });
    return kernels::Lines().any_nonfinite(packed_, groups * GroupFloats());
  }

  void Job(int64_t group, const packing::Strip& strip, const ForwardScratch& scratch) const {
    const Geometry& g = p_.geometry;
    for (int64_t c = 0; c < s_.input_channels_; ++c) {
      for (int64_t d = 0; d < g.kernel[0]; ++d) {
        const int64_t depth = strip.depth * g.stride[0] + d * g.dilation[0] - g.pad_begin[0];
        LoadPlane(strip, group * s_.input_channels_ + c, depth, scratch.line,
                  scratch.slab + (c * g.kernel[0] + d) * s_.cut_.plane_floats);
      }
    }
    for (int64_t k = 0; k < s_.columns(); ++k) {
      kernels::Lines().copy_rows(scratch.slab + s_.offsets_[static_cast<size_t>(k)], g.stride[1] * s_.cut_.row_floats,
                                 strip.rows, strip.columns, scratch.columns + k * s_.cut_.lane_step, strip.columns);
    }
    Multiply(group, strip, scratch);
  }

  // What a strip meets of one plane of the input, zeros where there is none.
  void LoadPlane(const packing::Strip& strip, int64_t channel, int64_t depth, float* line, float* to) const {
    const Geometry& g = p_.geometry;
    const int64_t row = strip.row * g.stride[1] - g.pad_begin[1], column = strip.column * g.stride[2] - g.pad_begin[2];
    const int64_t top = std::clamp<int64_t>(-row, 0, s_.cut_.rows),
                  low = std::clamp<int64_t>(-column, 0, s_.cut_.positions);
    const int64_t bottom = std::clamp<int64_t>(g.input_size[1] - row, top, s_.cut_.rows);
    const int64_t high = std::clamp<int64_t>(g.input_size[2] - column, low, s_.cut_.positions);
    const bool absent = depth < 0 || depth >= g.input_size[0] || top == bottom || low == high;
    if (absent || top > 0 || low > 0 || bottom < s_.cut_.rows || high < s_.cut_.positions) {
      std::fill(to, to + s_.cut_.plane_floats, 0.0f);
    }
    if (absent) return;
    const sheets::PlanePart part{row + top, 1, bottom - top, column + low, high - low};
    LoadRows(input_planes_.PlaneAt(strip.image, channel, depth), part, low, line, to + top * s_.cut_.row_floats);
  }

  // Rows from position `low` on, their phases apart.
  void LoadRows(int64_t plane, const sheets::PlanePart& part, int64_t low, float* line, float* to) const {
    const int64_t phases = p_.geometry.stride[2], step = p_.input.strides[4], row_step = p_.input.strides[3];
    const auto place = [&](int64_t position) {
      return to + position % phases * s_.cut_.phase_floats + position / phases;
    };
    if (step == 1 && phases <= 2) {
      return input_planes_.Load(plane, part, s_.cut_.row_floats, line, place(low),
                                phases == 2 ? place(low + 1) : nullptr);
    }
    const int64_t first = plane + part.first_row * row_step + part.first_column * step;
    for (int64_t r = 0; r < part.rows; ++r) {
      if (step == 1) {
        PartPhases(first + r * row_step, part.columns, low % phases, line, to + r * s_.cut_.row_floats + low / phases);
        continue;
      }
      for (int64_t i = 0; i < std::min(phases, part.columns); ++i) {
        input_.FetchGrid(first + r * row_step + i * step, 0, 1, phases * step, base::CeilDiv(part.columns - i, phases),
                         place(low + i) + r * s_.cut_.row_floats);
      }
    }
  }

  // A row whose first element is of phase `lead`; zeros before it, and behind the last.
  void PartPhases(int64_t offset, int64_t count, int64_t lead, float* line, float* to) const {
    const int64_t phases = p_.geometry.stride[2], groups = base::CeilDiv(lead + count, phases);
    int64_t places[kMostForwardSpread];
    for (int64_t i = 0; i < phases; ++i) places[i] = i * s_.cut_.phase_floats;
    std::fill(line, line + lead, 0.0f);
    input_.FetchRun(offset, count, line + lead);
    std::fill(line + lead + count, line + groups * phases, 0.0f);
    kernels::Lines().transpose(line, phases, groups, phases, to, places);
  }

  void Multiply(int64_t group, const packing::Strip& strip, const ForwardScratch& scratch) const {
    const auto& strides = p_.output_result.strides;
    const int64_t channel = group * s_.output_channels_, bytes = numerics::ElementBytes(p_.output_result.dtype);
    const int64_t offset = strip.image * strides[0] + channel * strides[1] + strip.depth * strides[2] +
                           strip.row * strides[3] + strip.column;
    const kernels::GatherRun run{0, 0, s_.columns()};
    int64_t places[2][kernels::GatherTiles::kMostRows];  // where they stay, and in the tile
    for (int64_t r = 0; r < kernels::GatherTiles::kMostRows; ++r) {
      places[0][r] = r * strides[1];
      places[1][r] = r * s_.lanes();
    }
    kernels::GatherOperands operands{};
    operands.runs = &run;
    operands.run_count = 1;
    operands.b_step = s_.cut_.lane_step;
    const packing::Asks asks(s_.output_channels_, panels_.count(), packing::AskTimes(run.terms));
    for (int64_t next = 0; next < strip.pixels(); next += s_.lanes()) {
      // The last panel begins earlier where that fills its vectors; the results that it shares it writes again.
      const int64_t vectors = base::CeilDiv(std::min(s_.lanes(), strip.pixels() - next), s_.tiles_.vector_lanes);
      const int64_t i = std::max<int64_t>(0, std::min(next, strip.pixels() - vectors * s_.tiles_.vector_lanes));
      const int64_t count = std::min(s_.lanes(), strip.pixels() - i);
      float* const direct = count % s_.tiles_.vector_lanes == 0 ? result_.Direct(offset + i, 1) : nullptr;
      const bool here = direct != nullptr;
      const kernels::GatherTiles& tiles = s_.tiles_.tiles[vectors - 1];
      operands.b = scratch.columns + i;
      operands.result_offsets = places[here ? 0 : 1];
      for (int64_t p = 0; p < panels_.count(); p += operands.panels) {
        const int64_t first = panels_.first(p), rows = panels_.rows(p);
        operands.panels = panels_.Alike(p);
        operands.a = packed_ + group * GroupFloats() + first * run.terms;
        operands.a_step = rows;
        operands.a_panel = rows * run.terms;
        operands.c = (here ? direct : scratch.tile) + operands.result_offsets[1] * first;
        operands.c_panel = rows * operands.result_offsets[1];
        asks.Assign(p, result_.Address(offset + i + s_.lanes()), strides[1] * bytes, &operands);
        tiles.adjacent[rows](operands, false);
      }
      if (here) continue;
      const kernels::Segment whole{0, 0, static_cast<int32_t>(count)};
      for (int64_t r = 0; r < s_.output_channels_; ++r) {
        result_.Store(offset + r * strides[1] + i, &whole, 1, 1, scratch.tile + r * s_.lanes());
      }
    }
  }

  const ForwardStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  float* packed_;
  plan::Shares scratch_;
  LineReader input_;
  sheets::PlaneReader input_planes_;
  LineReader weight_;
  LineWriter result_;
  packing::RowPanels panels_;  // of output channels
};

void ForwardStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  ForwardRun(*this, problem, buffers, static_cast<float*>(ledger.Fetch(workspace, packed_handle_)),
             ledger.FetchEach(workspace, scratch_handle_))
      .Run();
}

}  // namespace canopy::conv::columns
