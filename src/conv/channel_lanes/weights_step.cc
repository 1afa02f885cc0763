// SPDX-License-Identifier: Apache-2.0
#include "conv/channel_lanes/weights_step.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/bf16_dot.h"
#include "conv/channel_lanes/reach.h"
#include "conv/packing/scratch.h"
#include "conv/streams.h"
#include "conv/tensor_bytes.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::channel_lanes {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kPositionChoices[] = {512, 256, 128, 64};
constexpr int64_t kLaneChoices[] = {48, 96, 192, 384};
constexpr int64_t kChannelChoices[] = {16, 32, 64, 128, 256};
// The larger a job, the fewer transpose the same channels. Of its results a tile at a time is in use, of the slabs all.
constexpr int64_t kTileFloats = 256 << 10;  // both levels: 1 MiB
constexpr int64_t kRowFloats = 96 << 10;    // the rows' slab
constexpr int64_t kLaneFloats = 96 << 10;   // the lanes'
constexpr int64_t kVector = 16;
constexpr int64_t kEnoughJobs = 16;
constexpr int64_t kGroupedChannels = 64;  // of all groups of a job

// In units of Step::Work.
constexpr double kEfficiency = 0.96;       // of the tiles, operands in the L2
constexpr double kEfficiencyOfFew = 0.45;  // up to kFew rows of a tile
constexpr int64_t kFew = 4;
constexpr double kManySums = 16;   // in spite of few rows
constexpr double kSumsAtOnce = 8;  // with fewer, each waits for its last term
constexpr double kWorkASlabElem = 1.2;
constexpr double kWorkAConvertedElem = 1.6;  // likewise
constexpr double kWorkAPairedElem = 2.5;     // likewise
constexpr double kWorkAFarElem = 0.6;        // more from memory
constexpr double kWorkAPickedElem = 8;       // more where elements of input lie apart
constexpr double kWorkAPlacedElem = 0.8;     // more where they are parted by the stride's phases
constexpr double kWorkAStore = 1;
constexpr double kWorkATurnedStore = 0.8;  // more
constexpr double kWorkAPartial = 1;        // adding one element of a partial result
constexpr double kWorkATileVector = 2;     // adding to one vector of a result
constexpr double kWorkATileCall = 80;
constexpr double kWorkARun = 40;
constexpr double kWorkAJob = 700;

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger) {
  Geometry g = problem.geometry;
  // A single image has no other to pair with.
  if (g.batch > 1) dot_rate_ = Bf16DotRate(problem.input.dtype, problem.output.dtype, problem.rule);
  if (dot_rate_ > 0) g.batch = CeilDiv(g.batch, 2);
  taps_ = g.taps();
  most_partial_bytes_ = MostPartialBytes(problem);
  for (int axis = 0; axis < 3; ++axis) {
    classes_[axis] = packing::AxisClasses(g, axis, true);
    load_step_[axis] = packing::LoadStep(classes_[axis]);
    stride_[axis] = g.stride[axis] / load_step_[axis];
    axis_taps_ += g.kernel[axis];
  }
  slab_elem_ = dot_rate_ > 0                                       ? kWorkAPairedElem
               : problem.output.dtype == numerics::DType::kFloat32 ? kWorkASlabElem
                                                                   : kWorkAConvertedElem;
  if (OutgrowsCaches(problem, kBackwardWeights)) slab_elem_ += kWorkAFarElem;
  ChooseLanes(g);
  ChooseCut(g);
  ShareOut(g);
  if (cut_.segments > 1) {
    partial_handle_ =
        ledger->Book("partial weight gradients",
                     cut_.jobs(g.groups) * cut_.segments * tiles_floats(cut_) * static_cast<int64_t>(sizeof(float)));
  }
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

// Input channels, where the vectors that this saves are worth their shorter lines of results.
void WeightsStep::ChooseLanes(const Geometry& g) {
  const int64_t inputs = g.group_input_channels(), outputs = g.group_output_channels();
  const double products = ProductsOf(g.batch, classes_);  // of two channels
  const int64_t saved = (RoundUp(outputs, kVector) * inputs - RoundUp(inputs, kVector) * outputs) / kVector;
  turned_ = static_cast<double>(saved) * products > static_cast<double>(inputs * outputs * taps_) * kWorkATurnedStore;
  row_channels_ = turned_ ? outputs : inputs;
  lane_channels_ = turned_ ? inputs : outputs;
}

void WeightsStep::ChooseCut(const Geometry& g) {
  bool chosen = false;
  packing::Extent4 last_box{};
  for (const int64_t positions : kPositionChoices) {
    const packing::Boxes boxes(g.batch, g.output_size, {1, 1, 1}, positions);
    if (chosen && boxes.extent() == last_box) continue;  // the same again
    last_box = boxes.extent();
    ForCuts(g, boxes, [&](const Cut& cut) {
      if (chosen && !Fits(cut)) return;
      if (!chosen || cut.work < cut_.work) cut_ = cut;
      chosen = true;
    });
  }
}

template <class Visit>
void WeightsStep::ForCuts(const Geometry& g, const packing::Boxes& boxes, const Visit& visit) const {
  const kernels::GatherTilesList list = dot_rate_ > 0 ? kernels::PairGatherTiles() : kernels::AllGatherTiles();
  const Reach reach = ReachOf(boxes, g.batch, g.output_size, classes_, load_step_);
  int64_t last_lanes = 0;
  for (const int64_t lanes : kLaneChoices) {
    const packing::LanePanels panels(lane_channels_, lanes, list);
    if (panels.block_lanes() == last_lanes) continue;
    last_lanes = panels.block_lanes();
    int64_t last_chunk = 0;
    for (const int64_t channels : kChannelChoices) {
      const int64_t chunk = ChunkOf(channels);
      if (chunk != last_chunk) visit(MakeCut(g, boxes, reach, panels, chunk));
      last_chunk = chunk;
    }
  }
}

// Where the jobs of the best cut leave threads idle another of the same sums, which all threads finish first. What
// algorithms are compared by stays that of the best cut.
void WeightsStep::ShareOut(const Geometry& g) {
  const int64_t threads = cut_.work < kSerialWork ? 1 : exec::ThreadCount();
  const Cut whole = cut_;
  const auto time = [&](const Cut& cut) {
    const int64_t jobs = cut.jobs(g.groups) * cut.segments;
    return cut.work * static_cast<double>(CeilDiv(jobs, threads)) / static_cast<double>(jobs);
  };
  if (whole.jobs(g.groups) * whole.segments % threads == 0) return;
  double best = time(whole);
  ForCuts(g, whole.boxes, [&](const Cut& cut) {
    if (cut.segments != whole.segments || !Fits(cut) || time(cut) >= best) return;
    best = time(cut);
    cut_ = cut;
  });
  cut_.work = whole.work;
}

// Whether a job's memory stays in the caches.
bool WeightsStep::Fits(const Cut& cut) const {
  return tiles_floats(cut) * (Deep(cut) ? 2 : 1) <= kTileFloats && row_floats(cut) <= kRowFloats &&
         lane_floats(cut) <= kLaneFloats;
}

// What groups share in a job costs each of them less: vectors of the slabs, and lists of positions. Of at least `jobs`
// jobs.
int64_t WeightsStep::GroupsTogether(const packing::LanePanels& panels, int64_t groups, int64_t jobs) const {
  if (lane_channels_ > panels.panel_lanes()) return 1;
  const int64_t most = kGroupedChannels / std::max<int64_t>({1, row_channels_, lane_channels_});
  return base::PartSize(groups, std::min(most, groups / std::max<int64_t>(1, jobs)));
}

int64_t WeightsStep::ChunkOf(int64_t most_channels) const {
  if (row_channels_ == 0) return 1;
  return std::min(row_channels_, RoundUp(CeilDiv(row_channels_, CeilDiv(row_channels_, most_channels)), 4));
}

WeightsStep::Cut WeightsStep::MakeCut(const Geometry& g, const packing::Boxes& all_boxes, const Reach& reach,
                                      const packing::LanePanels& panels, int64_t chunk) const {
  Cut cut;
  cut.panels = panels;
  cut.boxes = all_boxes;
  cut.slab_pixels = reach.slab_pixels;
  cut.chunk = chunk;
  cut.chunks = CeilDiv(row_channels_, chunk);
  const double all_products = reach.products * static_cast<double>(g.groups * row_channels_) * panels.work();
  const int64_t jobs = all_products < kSerialWork ? 1 : CeilDiv(kEnoughJobs, std::max<int64_t>(1, all_boxes.count()));
  if (cut.chunks == 1) cut.groups = GroupsTogether(panels, g.groups, jobs);
  ChooseSegments(g, &cut);
  while (cut.groups > 1 && !Fits(cut)) {
    cut.groups = base::PartSize(g.groups, cut.groups - 1);
    ChooseSegments(g, &cut);
  }
  // Stretches of positions that a tap meets; whole planes are one where there is but one tap.
  const packing::Extent4& block = all_boxes.extent();
  const double runs = taps_ == 1 ? 1 : static_cast<double>(std::max<int64_t>(1, block[1] * block[2]));

  const double rows = static_cast<double>(row_channels_), vectors = cut.panels.work();
  const double boxes = static_cast<double>(cut.boxes.count()), taps = static_cast<double>(taps_);
  const double positions = boxes * static_cast<double>(cut.boxes.positions());
  const double lanes = vectors * kWorkLanes;
  const double calls = boxes * taps * (rows / cut.panels.most_rows() + 0.5 * static_cast<double>(cut.chunks)) * lanes /
                       static_cast<double>(cut.panels.panel_lanes());
  const double term = dot_rate_ > 0 ? 2 / dot_rate_ : 1;
  const double input_elem =
      slab_elem_ + (load_step_[2] > 1 ? kWorkAPickedElem : 0) + (stride_[2] > 1 ? kWorkAPlacedElem : 0);
  const double row_elems = rows * static_cast<double>(cut.panels.blocks());  // of a pixel
  const double lane_elems =
      cut.groups > 1 ? static_cast<double>(lane_channels_) : lanes * static_cast<double>(cut.chunks);
  const double sums = static_cast<double>(std::min<int64_t>(row_channels_, cut.panels.most_rows())) *
                      static_cast<double>(cut.panels.panel_lanes() / cut.panels.vector_lanes());  // of a tile
  const double efficiency = std::min(row_channels_ <= kFew && sums < kManySums ? kEfficiencyOfFew : kEfficiency,
                                     kEfficiency * std::clamp(sums / kSumsAtOnce, 1 / kSumsAtOnce, 1.0));
  cut.work =
      reach.products * term * rows * vectors / efficiency +
      reach.pixels * (turned_ ? lane_elems : row_elems) * input_elem +
      positions * (turned_ ? row_elems : lane_elems) * slab_elem_ + calls * (kWorkATileCall + runs * kWorkARun) +
      boxes * taps * rows * vectors * kWorkATileVector +
      taps * rows * lanes *
          (kWorkAStore + (turned_ ? kWorkATurnedStore : 0) + static_cast<double>(cut.segments - 1) * kWorkAPartial);
  cut.work =
      cut.work * static_cast<double>(g.groups) + static_cast<double>(cut.jobs(g.groups) * cut.segments) * kWorkAJob;
  return cut;
}

void WeightsStep::ChooseSegments(const Geometry& g, Cut* cut) const {
  const int64_t jobs = std::max<int64_t>(1, cut->jobs(g.groups)), boxes = cut->boxes.count();
  const int64_t bytes = tiles_floats(*cut) * static_cast<int64_t>(sizeof(float));
  const int64_t affordable = most_partial_bytes_ / std::max<int64_t>(1, jobs * bytes);
  cut->segments = std::clamp<int64_t>(CeilDiv(kEnoughJobs, jobs), 1, std::max<int64_t>(1, std::min(boxes, affordable)));
  cut->segment_boxes = std::max<int64_t>(1, CeilDiv(boxes, cut->segments));
  cut->segments = std::max<int64_t>(1, CeilDiv(boxes, cut->segment_boxes));
}

WeightsScratch WeightsStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  WeightsScratch scratch;
  const packing::Extent4& box = cut_.boxes.extent();
  scratch.rows = carver.Take<float>(row_floats(cut_));
  scratch.lanes = carver.Take<float>(lane_floats(cut_));
  scratch.sums = carver.Take<float>(cut_.segments > 1 ? 0 : tiles_floats(cut_));
  scratch.tiles = carver.Take<float>(Deep(cut_) ? tiles_floats(cut_) : 0);
  scratch.lines.lines = carver.Take<float>(packing::kLines * (packing::kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(packing::kLine);
  scratch.result_offsets = carver.Take<int64_t>(kernels::GatherTiles::kMostRows);
  scratch.runs = carver.Take<kernels::GatherRun>(box[1] * box[2]);
  scratch.ranges = carver.Take<TapRange>(axis_taps_);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string WeightsStep::Describe() const {
  const packing::Extent4& box = cut_.boxes.extent();
  return "boxes of " + std::to_string(box[0]) + " images by " + std::to_string(box[1]) + "x" + std::to_string(box[2]) +
         "x" + std::to_string(box[3]) + ", " + std::to_string(cut_.groups) + " groups in blocks of " +
         std::to_string(cut_.chunk) + (turned_ ? " output by " : " input by ") +
         std::to_string(cut_.panels.block_lanes()) + (turned_ ? " input" : " output") + " channels in panels of " +
         std::to_string(cut_.panels.panel_lanes()) + ", " + std::to_string(cut_.segments) + " segments" +
         (dot_rate_ > 0 ? ", BF16 dot products of pairs of images" : "");
}

}  // namespace canopy::conv::channel_lanes
