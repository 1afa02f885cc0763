// SPDX-License-Identifier: Apache-2.0
#include "conv/columns/forward_step.h"

#include "base/checked_math.h"
#include "conv/packing/scratch.h"
#include "conv/packing/tile_width.h"
#include "conv/sheets/sheet.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::columns {
namespace {

using base::CeilDiv;

// In units of Step::Work.
constexpr double kEfficiency = 0.95;  // of the tiles
constexpr double kWorkASlabElem = 0.3;
constexpr double kWorkAPickedElem = 2;  // likewise, where kernels cannot part them
constexpr double kWorkASlabRow = 12;
constexpr double kWorkAColumnVector = 2;
constexpr double kWorkAColumnRow = 5;
constexpr double kWorkAStore = 0.1;
constexpr double kWorkAConvertedStore = 1.5;
constexpr double kWorkATileCall = 60;
constexpr double kWorkAPackedWeight = 2;
constexpr double kWorkAJob = 1000;

}  // namespace

ForwardStep::ForwardStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger)
    : tiles_(kernels::AllGatherTiles()), cut_(problem.geometry) {
  const Geometry& g = problem.geometry;
  input_channels_ = g.group_input_channels();
  output_channels_ = g.group_output_channels();
  vectors_ = packing::TileWidth(tiles_, output_channels_);
  ListColumns(g);
  packed_handle_ =
      ledger->Book("packed weights", g.groups * output_channels_ * columns() * static_cast<int64_t>(sizeof(float)));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
  CountWork(problem);
}

void ForwardStep::ListColumns(const Geometry& g) {
  for (int64_t plane = 0; plane < cut_.planes; ++plane) {
    for (int64_t h = 0; h < g.kernel[1]; ++h) {
      for (int64_t w = 0; w < g.kernel[2]; ++w) {
        const int64_t position = w * g.dilation[2];
        offsets_.push_back(plane * cut_.plane_floats + h * g.dilation[1] * cut_.row_floats +
                           position % g.stride[2] * cut_.phase_floats + position / g.stride[2]);
      }
    }
  }
}

void ForwardStep::CountWork(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  const double rows = static_cast<double>(output_channels_), all = static_cast<double>(columns());
  const double panels = static_cast<double>(CeilDiv(cut_.strips.pixels(), lanes()));
  const double vectors = panels * static_cast<double>(lanes()) / kWorkLanes;
  const bool picked = g.stride[2] > 2 || problem.input.strides[4] != 1;
  const double slab =
      static_cast<double>(cut_.planes * cut_.rows) *
      (static_cast<double>(cut_.positions) * (picked ? kWorkAPickedElem : kWorkASlabElem) + kWorkASlabRow);
  const bool plain = problem.output_result.dtype == numerics::DType::kFloat32;
  const double store = plain ? kWorkAStore : kWorkAConvertedStore;
  const double strip =
      vectors * all * rows / kEfficiency + slab +
      all * (vectors * kWorkAColumnVector + static_cast<double>(cut_.strips.rows()) * kWorkAColumnRow) +
      panels * static_cast<double>(CeilDiv(output_channels_, most_rows())) * kWorkATileCall +
      rows * static_cast<double>(cut_.strips.pixels()) * store + kWorkAJob;
  work_ = static_cast<double>(g.groups) *
          (static_cast<double>(cut_.strips.count()) * strip + rows * all * kWorkAPackedWeight);
}

ForwardScratch ForwardStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  ForwardScratch scratch;
  scratch.slab = carver.Take<float>(cut_.slab_floats() + kernels::kLineSlack);
  scratch.columns = carver.Take<float>(columns() * cut_.lane_step);
  scratch.tile = carver.Take<float>(output_channels_ * lanes());
  const int64_t line = base::RoundUp(cut_.positions, cut_.row_floats / cut_.phase_floats);
  scratch.line = carver.Take<float>(sheets::LineFloats(line) + kernels::kLineSlack);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string ForwardStep::Describe() const {
  return "strips of " + std::to_string(cut_.strips.rows()) + "x" + std::to_string(cut_.strips.columns()) +
         " output pixels, " + std::to_string(columns()) + " columns, tile " + std::to_string(most_rows()) + "x" +
         std::to_string(lanes());
}

}  // namespace canopy::conv::columns
