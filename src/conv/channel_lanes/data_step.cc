// SPDX-License-Identifier: Apache-2.0
#include "conv/channel_lanes/data_step.h"

#include <algorithm>
#include <utility>

#include "base/checked_math.h"
#include "conv/bf16_dot.h"
#include "conv/channel_lanes/reach.h"
#include "conv/packing/cache_sets.h"
#include "conv/packing/scratch.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::channel_lanes {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kPositionChoices[] = {2048, 1024, 512, 256, 128, 64};
constexpr int64_t kLaneChoices[] = {48, 64, 96, 192, 384};
constexpr int64_t kTileFloats = 128 << 10;   // results of a job: 512 KiB of a 1 MiB L2
constexpr int64_t kWeightFloats = 48 << 10;  // a chunk's packed weights of a panel: 192 KiB
constexpr int64_t kSlabFloats = 96 << 10;    // a chunk's slab: 384 KiB
constexpr int64_t kTerms = 1024;             // of one tile call: FP32 sums stay short
constexpr int64_t kMostChunk = 256;
constexpr int64_t kPanelsACall = 12;                    // of tiles that share what they read
constexpr int64_t kLineChannels = 16;                   // a cache line of them
constexpr int64_t kMatrixChannels = 32;                 // what a matrix unit takes at a time
constexpr int64_t kLeastRows = 4;                       // of a tile, or it waits for its own sums
constexpr int64_t kNearResults = 256 << 10;             // all results: they stay in the L2
constexpr double kWorthAdding = 0.8;                    // of the products: tiles then read and write results more often
constexpr int64_t kGroupedChannels = 64;                // of all groups of a job
constexpr int64_t kMostPackedBytes = int64_t{1} << 20;  // for all jobs: they stay near

// In units of Step::Work.
constexpr double kEfficiency = 0.96;       // of the tiles, operands in the L2
constexpr double kEfficiencyOfOne = 0.85;  // of tiles of one vector: a load for every multiply-add
constexpr double kWorkAPackedWeight = 1;   // transposing one element
constexpr double kWorkADistance = 0.3;     // more, of one that comes from afar
constexpr double kWorkACrowdedWeight = 1;  // likewise, where the lines of all lanes share a set of the L1
constexpr double kWorkAFarWeight = 0.1;    // reading one that is packed already
constexpr double kWorkASlabElem = 1.2;
constexpr double kWorkACopiedElem = 0.5;  // likewise
constexpr double kWorkAPickedElem = 8;    // more where elements lie apart
constexpr double kWorkAStore = 1;
constexpr double kWorkAConvertedStore = 3;  // likewise
constexpr double kWorkATileVector = 2;      // adding to one vector of a result
constexpr double kWorkATileCall = 60;
constexpr double kWorkARun = 8;  // more, for each kernel offset
constexpr double kWorkAJob = 1500;

constexpr double kUnevenness = 0.1;  // of a job: what a thread waits for another at the end

}  // namespace

DataStep::DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : forward_(computation == kForward), weight_(problem, computation == kForward) {
  const Geometry& g = problem.geometry;
  source_ = forward_ ? problem.input : problem.output;
  result_ = forward_ ? problem.output_result : problem.input_result;
  dot_rate_ = Bf16DotRate(source_.dtype, problem.weight.dtype, problem.rule, true);
  matrix_unit_ = ByMatrixUnit(dot_rate_);
  if (matrix_unit_) panels_a_call_ = kPanelsACall;
  source_channels_ = forward_ ? g.group_input_channels() : g.group_output_channels();
  result_channels_ = forward_ ? g.group_output_channels() : g.group_input_channels();
  ChooseClasses(g);
  // Of the problem alone, and so the order of every sum; how the rest is cut changes no bit.
  const int64_t most = std::min(kMostChunk, std::max<int64_t>(1, kTerms / weight_.taps));
  const int64_t chunks = std::max<int64_t>(1, CeilDiv(source_channels_, most));
  const int64_t whole = matrix_unit_ ? kMatrixChannels : kLineChannels;
  chunk_ = std::max<int64_t>(1, std::min(source_channels_, RoundUp(CeilDiv(source_channels_, chunks), whole)));
  ChooseCut(g);
  // Where every call ends with a store, and there are more results than wait for it nearby.
  const Extent3& size = forward_ ? g.output_size : g.input_size;
  const int64_t results = g.batch * g.groups * result_channels_ * size[0] * size[1] * size[2];
  asks_ = IsOneSlab(cut_) && results > kNearResults;
  if (cut_.packed_once) {
    const int64_t panels = g.groups * AllPanels(), floats = panels * PanelFloats();
    const int64_t parts = CeilDiv(g.groups, cut_.groups) * AllPanels() * CeilDiv(source_channels_, chunk_);
    weights_ = packing::CommonNumbers("packed weights", parts, floats + kernels::kLineSlack,
                                      kWorkAPackedWeight * static_cast<double>(floats) / std::max(1.0, work_), ledger);
  }
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

// By the taps of the last axis where that leaves tiles more rows. It is the problem's, and so the order of every sum.
void DataStep::ChooseClasses(const Geometry& g) {
  for (int axis = 0; axis < 3; ++axis) {
    classes_[axis] = packing::AxisClasses(g, axis, forward_);
    load_step_[axis] = packing::LoadStep(classes_[axis]);
  }
  products_ = ProductsOf(g.batch, classes_, kLeastRows);
  if (g.groups > 1) return;  // those of a job may write where the next is to write, not to add
  AxesClasses by_taps = classes_;
  by_taps[2] = packing::AxisClassesByTaps(g, 2, forward_);
  const double products = ProductsOf(g.batch, by_taps, kLeastRows);
  if (products > kWorthAdding * products_) return;
  by_taps_ = true;
  classes_ = std::move(by_taps);
  products_ = products;
}

// The cut that this many threads finish first. The work that algorithms are compared by is that of the best cut for one
// thread: their choice must not depend on the threads.
void DataStep::ChooseCut(const Geometry& g) {
  double best = 0;
  const kernels::GatherTilesList list = dot_rate_ > 0 ? kernels::PairGatherTiles() : kernels::AllGatherTiles();
  for (const int64_t most_lanes : kLaneChoices) {
    const packing::LanePanels panels(result_channels_, most_lanes, list);
    if (best != 0 && panels.block_lanes() == cut_.panels.block_lanes()) continue;  // the same again
    packing::Extent4 last{};
    for (const int64_t most_positions : kPositionChoices) {
      const Cut cut = MakeCut(g, most_positions, panels, last);
      if (cut.boxes.extent() == last) continue;
      last = cut.boxes.extent();
      work_ = best == 0 ? cut.work : std::min(work_, cut.work);
      const double time = TimeOf(cut, g);
      if (best == 0 || time < best) {
        cut_ = cut;
        best = time;
      }
    }
  }
}

// Of the thread that has most to do. Jobs are alike, but for those of the last block, which has what is left.
double DataStep::TimeOf(const Cut& cut, const Geometry& g) const {
  const int64_t threads = cut.work < kSerialWork ? 1 : exec::ThreadCount();
  const int64_t jobs = std::max<int64_t>(1, Jobs(cut, g)), of_a_block = CeilDiv(jobs, cut.panels.blocks());
  const int64_t block = cut.panels.channels(0), whole_blocks = result_channels_ / block;
  const double alike =
      (static_cast<double>(CeilDiv(jobs, threads)) + (threads > 1 ? kUnevenness : 0)) / static_cast<double>(jobs);
  const double unlike = static_cast<double>(CeilDiv(of_a_block * whole_blocks, threads) * block) /
                        static_cast<double>(of_a_block * result_channels_);
  return cut.work * std::max(alike, unlike);
}

// What groups share in a job costs each of them less: vectors of the slab and of the tiles, and lists of positions.
int64_t DataStep::GroupsTogether(const packing::LanePanels& panels, int64_t groups) const {
  const bool paired_across = dot_rate_ > 0 && source_channels_ % 2 != 0;
  if (result_channels_ > panels.panel_lanes() || source_channels_ > chunk_ || paired_across) return 1;
  const int64_t most = kGroupedChannels / std::max<int64_t>({1, source_channels_, result_channels_});
  return base::PartSize(groups, most);
}

// Only cut where its boxes would be those of `known`.
DataStep::Cut DataStep::MakeCut(const Geometry& g, int64_t most_positions, const packing::LanePanels& panels,
                                const packing::Extent4& known) const {
  Cut cut;
  const Extent3& size = forward_ ? g.output_size : g.input_size;
  const Extent3 multiple = forward_ ? Extent3{1, 1, 1} : g.stride;
  const Extent3& source = forward_ ? g.input_size : g.output_size;
  const int64_t a_pixel = std::max<int64_t>(
      1, size[0] * size[1] * size[2] / std::max<int64_t>(1, source[0] * source[1] * source[2]));  // positions
  cut.panels = panels;
  cut.groups = GroupsTogether(panels, g.groups);
  cut.tile_lanes = panels.block_lanes() + RoundUp((cut.groups - 1) * result_channels_, 16);
  cut.boxes = packing::Boxes(g.batch, size, multiple,
                             std::min({most_positions, kSlabFloats / (cut.groups * Terms(chunk_)) * a_pixel,
                                       std::max<int64_t>(16, kTileFloats / cut.tile_lanes)}));
  if (cut.boxes.extent() == known) return cut;
  // Rows that straddle cache lines are worth it where they are packed for one box.
  cut.one_matrix = !forward_ && dot_rate_ == 0 && result_channels_ <= panels.panel_lanes() &&
                   weight_.IsOneMatrix(result_channels_) &&
                   (result_channels_ % panels.vector_lanes() == 0 || cut.boxes.count() == 1);
  const Reach reach = ReachOf(cut.boxes, g.batch, size, classes_, load_step_);
  cut.slab_pixels = reach.slab_pixels;
  cut.places = cut.boxes.positions();
  if (by_taps_) cut.places *= static_cast<int64_t>(classes_[2].size());
  const int64_t chunks = CeilDiv(source_channels_, chunk_);
  const double channels = static_cast<double>(source_channels_), vectors = cut.panels.work();
  const double boxes = static_cast<double>(cut.boxes.count()), blocks = static_cast<double>(cut.panels.blocks());
  const double positions = static_cast<double>(g.batch * size[0] * size[1] * size[2]);
  const double calls = (positions * reach.covers / cut.panels.most_rows() + boxes * reach.classes) * vectors *
                       kWorkLanes / static_cast<double>(cut.panels.panel_lanes()) *
                       static_cast<double>(std::max<int64_t>(1, chunks));
  // Channels that lie side by side are copied as they are, else transposed.
  const bool side_by_side = source_.strides[1] == 1;
  const double slab_elem = (dot_rate_ > 0 && side_by_side ? kWorkACopiedElem : kWorkASlabElem) +
                           (load_step_[2] > 1 && !side_by_side ? kWorkAPickedElem : 0);
  const double store =
      result_.dtype == numerics::DType::kFloat32 || result_.strides[1] == 1 ? kWorkAStore : kWorkAConvertedStore;
  const double results = static_cast<double>(result_channels_);
  const double weights =
      static_cast<double>(weight_.taps) * channels * (cut.one_matrix ? results : vectors * kWorkLanes);
  const double packed_bytes = weights * sizeof(float) * static_cast<double>(g.groups) / (dot_rate_ > 0 ? 2 : 1);
  cut.packed_once = boxes > 1 && weights > 0 && packed_bytes <= kMostPackedBytes;
  // A matrix unit takes as long for a few terms as for all that it takes at a time.
  const int64_t least = matrix_unit_ ? Terms(kMatrixChannels) : 1;
  const double terms = static_cast<double>(RoundUp(Terms(source_channels_), least));
  const double products = dot_rate_ > 0 ? 2 / dot_rate_ * terms : channels;
  const bool crowded = packing::CrowdASet(kernels::GatherTiles::kMostRows, weight_.result_stride);
  const double distance = packed_bytes <= kMostPackedBytes ? 0 : crowded ? kWorkACrowdedWeight : kWorkADistance;
  const double a_weight = kWorkAPackedWeight + distance;
  // Offsets along a row are one run where their pixels, and their weights, follow one another.
  const bool joined = forward_ && !matrix_unit_ && IsOneSlab(cut) && load_step_[2] == 1 && g.dilation[2] == 1;
  const double runs =
      reach.products / std::max(1.0, positions * reach.covers) / static_cast<double>(joined ? g.kernel[2] : 1);
  cut.work = products_ * products * vectors / (cut.panels.vectors() == 1 ? kEfficiencyOfOne : kEfficiency) +
             weights * (cut.packed_once ? a_weight + boxes * kWorkAFarWeight : boxes * a_weight) +
             reach.pixels * blocks * channels * slab_elem +
             positions * (cut.groups > 1 ? results : vectors * kWorkLanes) * store +
             positions * reach.covers * vectors * static_cast<double>(chunks) * kWorkATileVector +
             calls * (kWorkATileCall + runs * kWorkARun);
  cut.work = cut.work * static_cast<double>(g.groups) + static_cast<double>(Jobs(cut, g)) * kWorkAJob;
  return cut;
}

DataScratch DataStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  DataScratch scratch;
  const int64_t lanes = cut_.tile_lanes, positions = cut_.boxes.positions();
  const int64_t columns = std::max(chunk_ * weight_.taps, packing::kLines);
  scratch.slab = carver.Take<float>(cut_.slab_pixels * cut_.groups * Terms(chunk_));
  const int64_t tap_floats = cut_.groups * chunk_ * cut_.panels.panel_lanes();
  scratch.weights = carver.Take<float>(weight_.taps * (tap_floats + TapGap(tap_floats)) + kernels::kLineSlack);
  scratch.tiles = carver.Take<float>(positions * lanes);
  scratch.bias = carver.Take<float>(lanes);
  scratch.lines.lines = carver.Take<float>(packing::kLines * (packing::kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(packing::kLine);
  scratch.weight_offsets = carver.Take<int64_t>(columns);
  scratch.row_offsets = carver.Take<int64_t>(cut_.places);
  scratch.result_offsets = carver.Take<int64_t>(cut_.places);
  scratch.runs = carver.Take<kernels::GatherRun>(weight_.taps);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string DataStep::Describe() const {
  const packing::Extent4& box = cut_.boxes.extent();
  return "boxes of " + std::to_string(box[0]) + " images by " + std::to_string(box[1]) + "x" + std::to_string(box[2]) +
         "x" + std::to_string(box[3]) + ", blocks of " + std::to_string(cut_.panels.block_lanes()) +
         " result channels in panels of " + std::to_string(cut_.panels.panel_lanes()) + ", chunks of " +
         std::to_string(chunk_) + " source channels" + (by_taps_ ? ", border columns by taps" : "") +
         (cut_.groups > 1 ? ", " + std::to_string(cut_.groups) + " groups together" : "") +
         (cut_.packed_once ? ", weights packed once" : "") + (dot_rate_ > 0 ? ", BF16 dot products" : "");
}

}  // namespace canopy::conv::channel_lanes
