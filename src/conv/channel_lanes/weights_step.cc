// SPDX-License-Identifier: Apache-2.0
#include "conv/channel_lanes/weights_step.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/channel_lanes/scratch.h"
#include "exec/pool.h"

namespace canopy::conv::channel_lanes {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kPositionChoices[] = {512, 256, 128, 64};
constexpr int64_t kLaneChoices[] = {48, 96, 192, 384};
constexpr int64_t kChannelChoices[] = {16, 32, 64, 128, 256};
constexpr int64_t kTileFloats = 80 << 10;    // results of a job: 320 KiB of a 1 MiB L2
constexpr int64_t kInputFloats = 64 << 10;   // input slab
constexpr int64_t kOutputFloats = 64 << 10;  // output slab
constexpr int64_t kEnoughJobs = 16;
constexpr int64_t kMostPartialBytes = int64_t{8} << 20;

// In units of Step::Work.
constexpr double kEfficiency = 0.96;  // of the tiles, operands in the L2
constexpr double kWorkASlabElem = 1.2;
constexpr double kWorkAStore = 1;
constexpr double kWorkAPartial = 1;     // adding one element of a partial result
constexpr double kWorkATileVector = 2;  // adding to one vector of a result
constexpr double kWorkATileCall = 80;
constexpr double kWorkARun = 40;

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger) {
  const Geometry& g = problem.geometry;
  input_channels_ = g.group_input_channels();
  output_channels_ = g.group_output_channels();
  taps_ = g.taps();
  for (int axis = 0; axis < 3; ++axis) {
    classes_[axis] = AxisClasses(g, axis, true);
    load_step_[axis] = LoadStep(classes_[axis]);
    stride_[axis] = g.stride[axis] / load_step_[axis];
  }
  ChooseCut(g);
  if (cut_.segments > 1) {
    partial_handle_ =
        ledger->Book("partial weight gradients",
                     cut_.jobs(g.groups) * cut_.segments * tiles_floats(cut_) * static_cast<int64_t>(sizeof(float)));
  }
  ScratchAt(nullptr, &scratch_bytes_);
  scratch_handle_ = ledger->Book("scratch of " + std::to_string(exec::ThreadCount()) + " threads",
                                 scratch_bytes_ * exec::ThreadCount());
}

void WeightsStep::ChooseCut(const Geometry& g) {
  bool chosen = false;
  for (const int64_t positions : kPositionChoices) {
    for (const int64_t lanes : kLaneChoices) {
      for (const int64_t channels : kChannelChoices) {
        Cut cut;
        if (!MakeCut(g, positions, lanes, channels, &cut) && chosen) continue;
        if (!chosen || cut.work < cut_.work) cut_ = cut;
        chosen = true;
      }
    }
  }
}

// False where the job's memory does not stay in the cache.
bool WeightsStep::MakeCut(const Geometry& g, int64_t most_positions, int64_t most_lanes, int64_t most_channels,
                          Cut* cut) const {
  cut->panels = LanePanels(output_channels_, most_lanes);
  cut->chunks = CeilDiv(input_channels_, most_channels);
  cut->chunk = cut->chunks == 0 ? 1 : std::min(input_channels_, RoundUp(CeilDiv(input_channels_, cut->chunks), 4));
  cut->chunks = CeilDiv(input_channels_, cut->chunk);
  cut->boxes = Boxes(g.batch, g.output_size, {1, 1, 1}, most_positions);
  const Extent4& block = cut->boxes.extent();
  cut->slab_pixels = block[0];
  double taps_met = static_cast<double>(g.batch), pixels = taps_met, runs = 1;
  for (int axis = 0; axis < 3; ++axis) {
    double met = 0, loaded = 0;
    int64_t most = 0;
    for (const AxisClass& one : classes_[axis])
      met += static_cast<double>(one.count) * static_cast<double>(one.taps.size());
    for (int64_t at = 0; at < g.output_size[axis]; at += block[axis + 1]) {
      const int64_t end = std::min(g.output_size[axis], at + block[axis + 1]);
      const int64_t count = SourceRange(classes_[axis], load_step_[axis], at, end).count;
      loaded += static_cast<double>(count);
      most = std::max(most, count);
    }
    taps_met *= met;
    pixels *= loaded;
    cut->slab_pixels *= most;
    if (axis < 2 || (stride_[2] != 1 && block[0] > 1))
      runs *= static_cast<double>(std::max<int64_t>(1, block[axis + 1]));
  }
  if (taps_ == 1) runs = 1;
  ChooseSegments(g, cut);

  const double inputs = static_cast<double>(input_channels_), vectors = static_cast<double>(cut->panels.vectors());
  const double boxes = static_cast<double>(cut->boxes.count()), taps = static_cast<double>(taps_);
  const double positions = boxes * static_cast<double>(cut->boxes.positions());
  const double lanes = vectors * 16;
  const double calls = boxes * taps * (inputs / cut->panels.most_rows() + 0.5 * static_cast<double>(cut->chunks)) *
                       lanes / static_cast<double>(cut->panels.panel_lanes());
  cut->work = taps_met * inputs * vectors / kEfficiency +
              pixels * inputs * static_cast<double>(cut->panels.blocks()) * kWorkASlabElem +
              positions * lanes * static_cast<double>(cut->chunks) * kWorkASlabElem +
              calls * (kWorkATileCall + runs * kWorkARun) + boxes * taps * inputs * vectors * kWorkATileVector +
              taps * inputs * lanes * (kWorkAStore + static_cast<double>(cut->segments - 1) * kWorkAPartial);
  cut->work *= static_cast<double>(g.groups);
  return tiles_floats(*cut) <= kTileFloats && cut->slab_pixels * cut->chunk <= kInputFloats &&
         cut->boxes.positions() * cut->panels.block_lanes() <= kOutputFloats;
}

void WeightsStep::ChooseSegments(const Geometry& g, Cut* cut) const {
  const int64_t jobs = std::max<int64_t>(1, cut->jobs(g.groups)), boxes = cut->boxes.count();
  const int64_t bytes = tiles_floats(*cut) * static_cast<int64_t>(sizeof(float));
  const int64_t affordable = kMostPartialBytes / std::max<int64_t>(1, jobs * bytes);
  cut->segments = std::clamp<int64_t>(CeilDiv(kEnoughJobs, jobs), 1, std::max<int64_t>(1, std::min(boxes, affordable)));
  cut->segment_boxes = std::max<int64_t>(1, CeilDiv(boxes, cut->segments));
  cut->segments = std::max<int64_t>(1, CeilDiv(boxes, cut->segment_boxes));
}

WeightsScratch WeightsStep::ScratchAt(char* at, int64_t* bytes) const {
  Carver carver(at);
  WeightsScratch scratch;
  const Extent4& box = cut_.boxes.extent();
  scratch.input = carver.Take<float>(cut_.slab_pixels * cut_.chunk);
  scratch.output = carver.Take<float>(cut_.boxes.positions() * cut_.panels.block_lanes());
  scratch.tiles = carver.Take<float>(tiles_floats(cut_));
  scratch.deep = carver.Take<float>(tiles_floats(cut_));
  scratch.lines.lines = carver.Take<float>(kLines * (kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(kLine);
  scratch.result_offsets = carver.Take<int64_t>(kernels::GatherTiles::kMostRows);
  scratch.runs = carver.Take<kernels::GatherRun>(box[1] * box[2] * box[3]);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string WeightsStep::Describe() const {
  const Extent4& box = cut_.boxes.extent();
  return "boxes of " + std::to_string(box[0]) + " images by " + std::to_string(box[1]) + "x" + std::to_string(box[2]) +
         "x" + std::to_string(box[3]) + ", blocks of " + std::to_string(cut_.chunk) + " input by " +
         std::to_string(cut_.panels.block_lanes()) + " output channels in panels of " +
         std::to_string(cut_.panels.panel_lanes()) + ", " + std::to_string(cut_.segments) + " segments";
}

}  // namespace canopy::conv::channel_lanes
