// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/data_step.h"

#include <algorithm>
#include <numeric>

#include "base/checked_math.h"
#include "base/cpu.h"
#include "conv/elements.h"
#include "conv/packing/cache_sets.h"
#include "conv/packing/scratch.h"
#include "conv/split_gemm/estimates.h"
#include "conv/split_gemm/losses.h"
#include "conv/tensor_bytes.h"
#include "conv/work.h"
#include "exec/pool.h"
#include "kernels/streams.h"

namespace canopy::conv::winograd {
namespace {

using base::CeilDiv;
using base::RoundUp;

// Of a tile product, about. Transforms back enlarge the error of its sums, those of squares twice.
constexpr int64_t kTerms = 64, kTermsOfLines = 128;
constexpr int64_t kTiles = 64;          // of a box: what a point's kernels, once in the L1, are worth
constexpr int64_t kTilesOfTerms = 128;  // neighbours share windows
constexpr int64_t kTilesOfLines = 256;
constexpr int64_t kVectorsInParts = 2;                  // of a panel: the matrix unit takes two panels of lanes at once
constexpr int64_t kLeastTilesOfALine = 2;               // of a box: neighbours share pixels
constexpr int64_t kLineWindowBytes = int64_t{3} << 20;  // of a box
constexpr int64_t kWindowBytes = int64_t{13} << 19;     // of a box of squares: small planes have windows for each term

// In units of Step::Work.
constexpr double kEfficiency = 0.95;          // of the products
constexpr double kEfficiencyOfOne = 0.7;      // of tiles of one vector: a load for every multiply-add
constexpr double kEfficiencyOfPhases = 0.85;  // each has few terms
// Where the L3 is slow and windows and kernels are more than an L2 takes turns with.
constexpr double kEfficiencyFromAfar = 0.68, kEfficiencyOfLinesFromAfar = 0.8;
constexpr int64_t kNearL2s = 2;
constexpr double kEfficiencyInParts = 0.9;
constexpr double kWorkANumberInParts = 1.4;     // taking one apart
constexpr double kWorkOfSquaresInParts = 0.96;  // of what is counted, where windows are transformed several times
constexpr double kWorkAFarKernelInParts = 1.25, kWorkAFarWindowElem = 1.5, kWorkAFarSum = 0.3;
constexpr int64_t kNearBytesInParts = int64_t{2} << 20, kNearWindowFloats = 320 << 10;
constexpr double kWorkATileCall = 60;
constexpr double kWorkAPoint = 150;       // of a box, panel and chunk, before its calls
constexpr double kWorkATileVector = 2;    // adding to one vector of a sum
constexpr double kWorkAKernelVector = 3;  // bringing one vector of a kernel from the L3, once a box
constexpr double kWorkAPackedWeight = 3;
constexpr double kWorkASlabElem = 1.3;
constexpr double kWorkAStore = 1.2;
constexpr double kWorkAConvertedStore = 3;  // likewise
constexpr double kWorkARun = 25;            // moving a pixel's channels where they lie side by side, besides
constexpr double kWorkAWindowElem = 19;     // transforming one channel of a window, kernel or tile of 36 points
constexpr double kWorkAKernelElem = 7;
constexpr double kWorkATileElem = 10;
constexpr double kWorkAListed = 25;  // finding the place of one pixel of a window or tile; boxes are alike
constexpr double kWorkPoints = 36;
// Of a tensor. Results of squares are not alike in their errors, and the rarest of more would be off by more than
// docs/accuracy.md lets one be.
constexpr double kMostResultsOfSquares = 1 << 25;

}  // namespace

DataStep::DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger,
                   Products products)
    : forward_(computation == kForward),
      products_(products),
      weight_(problem, computation == kForward),
      direct_(problem, computation, ledger) {
  ledger->StartOver();  // its time is after this step's own
  const Geometry& g = problem.geometry;
  source_ = forward_ ? problem.input : problem.output;
  result_ = forward_ ? problem.output_result : problem.input_result;
  source_size_ = forward_ ? g.input_size : g.output_size;
  result_size_ = forward_ ? g.output_size : g.input_size;
  source_channels_ = forward_ ? g.group_input_channels() : g.group_output_channels();
  result_channels_ = forward_ ? g.group_output_channels() : g.group_input_channels();
  streamed_ = RowsPastL3(problem, computation);
  padded_sources_ = RoundUp(source_channels_, kernels::kWinogradLanes);
  panels_ = packing::LanePanels(result_channels_, 1);
  if (in_parts() && panels_.blocks() > 1) {
    panels_ = packing::LanePanels(result_channels_, 1, kernels::AllGatherTiles(), kVectorsInParts);
  }
  if (packing::CrowdASet(panels_.most_rows(), padded_sources_)) padded_sources_ += kernels::kWinogradLanes;
  tensor_bytes_ = TensorBytes(problem, computation);
  const auto reaches = [&g](int axis) { return g.kernel[axis] > 1 ? 1 : 0; };
  far_ = reaches(0) + reaches(1) + reaches(2) > 1 && OutgrowsCaches(problem, computation);
  ChooseTiling(g);
  ChooseCut(g);
  const int64_t scratch_bytes = ScratchBytes();
  if (batch_boxes_ == 0 && block_units_ == units(g)) {
    const double work = KernelWork() * static_cast<double>(g.groups);
    kernels_of_all_ = packing::CommonNumbers("transformed kernels", units(g) * CeilDiv(source_channels_, kKernelChunk),
                                             units(g) * unit_floats(), work / std::max(1.0, work_), ledger,
                                             kThreadBytes - plan::WorkspaceLedger::kMostGap - scratch_bytes);
  } else if (block_units_ > 0) {
    kernels_handle_ = ledger->Book("transformed kernels", block_units_ * unit_floats() * int64_t{sizeof(float)});
  }
  if (batch_boxes_ > 0) {
    windows_handle_ =
        ledger->Book("transformed windows", g.groups * batch_boxes_ * window_floats() * int64_t{sizeof(float)});
  }
  found_handle_ = in_parts() ? ledger->Book("what parts cannot express", sizeof(split_gemm::Losses))
                             : ledger->Book("whether a result is not finite", sizeof(int32_t));
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

// Algorithms, too, are compared by its work: nothing in it depends on the threads.
void DataStep::ChooseTiling(const Geometry& g) {
  const auto take = [&](const Tiling& tiling) {
    tiling_ = tiling;
    Place(g);
    const int64_t terms = tiling.transformed > 1 ? kTerms : kTermsOfLines;
    terms_chunk_ = std::max<int64_t>(1, terms / tiling.terms() / kKernelChunk) * kKernelChunk;
    if (in_parts()) return CutForParts(g);
    boxes_ = MakeBoxes(g, MostTiles());
    for (int64_t tiles = MostTiles() / 2;
         tiles >= kLeastTiles && window_floats() * int64_t{sizeof(float)} > kWindowBytes; tiles /= 2) {
      boxes_ = MakeBoxes(g, tiles);
    }
  };
  const double results =
      static_cast<double>(g.batch * g.groups * result_channels_) * static_cast<double>(Volume(result_size_));
  Tiling best;
  for (const Tiling& tiling : Tilings(g, forward_)) {
    if (!Serves(tiling, products_)) continue;
    take(tiling);
    const bool rough = tiling.transformed > 1 && results > kMostResultsOfSquares;
    const double counted = in_parts() && tiling.transformed > 1 && passes(g) > 1 ? kWorkOfSquaresInParts : 1;
    const double work = counted * EstimateWork(g) + (Fits(g) && !rough ? 0 : kNoRoom);
    if (best.transformed > 0 && work >= work_) continue;
    best = tiling;
    work_ = work;
  }
  take(best);
}

// Result y is number (y + missing) / phases of its phase. Number i of the last phase meets source pixels i + shift to
// i + shift + taps - 1, of the others some of these.
void DataStep::Place(const Geometry& g) {
  for (int axis = 0; axis < 3; ++axis) {
    const AxisTiling& along = tiling_.axes[axis];
    const int64_t pad = g.pad_begin[axis];
    phase_size_[axis] = result_size_[axis];
    missing_[axis] = 0;
    if (forward_) {
      shift_[axis] = -pad;
    } else if (along.phases == 1) {
      shift_[axis] = pad - (along.kernel - 1) * along.dilation;
    } else {
      missing_[axis] = pad % along.phases - along.phase_pad;
      phase_size_[axis] = result_size_[axis] == 0 ? 0 : CeilDiv(result_size_[axis] + missing_[axis], along.phases);
      shift_[axis] = (along.phases - 1 + pad - missing_[axis]) / along.phases - (along.taps - 1);
    }
    tiling_.axes[axis].Fit(phase_size_[axis]);
  }
}

packing::AxisRange DataStep::Results(const packing::Box& box, int axis) const {
  const AxisTiling& along = tiling_.axes[axis];
  const int64_t first = box.first[axis + 1] * along.tile, end = first + box.count[axis + 1] * along.tile;
  const int64_t begin = std::max<int64_t>(0, first * along.phases - missing_[axis]);
  return {begin, 1, std::min(result_size_[axis], end * along.phases - missing_[axis]) - begin};
}

int64_t DataStep::MostTiles() const {
  if (tiling_.transformed == 1) {
    const int64_t tile_bytes = tiling_.terms() * tiling_.points() * padded_sources_ * int64_t{sizeof(float)};
    return std::clamp<int64_t>(kLineWindowBytes / std::max<int64_t>(1, tile_bytes), kFewTilesOfLines, kTilesOfLines);
  }
  return tiling_.terms() > 1 ? kTilesOfTerms : kTiles;
}

// Of a row, so many that results which leave past the caches are whole lines of memory where the row is cut.
int64_t DataStep::TilesOfALine() const {
  const auto are_lines = [&](int axis) { return result_.strides[axis] % kernels::kMemoryLineFloats == 0; };
  const bool rows_are_lines = are_lines(1) && (result_size_[1] == 1 || are_lines(3)) && result_.strides[4] == 1;
  if (streamed_ == StreamedRows::kNone || !rows_are_lines || tiling_.phases() > 1) return 1;
  return kernels::kMemoryLineFloats / std::gcd(kernels::kMemoryLineFloats, tiling_.axes[2].tile);
}

// Boxes of lines reach a little along the lines, so that few pixels belong to two of them, then along what lies
// together in memory: long stretches are worth more than the rest of such pixels.
packing::Boxes DataStep::MakeBoxes(const Geometry& g, int64_t most_tiles) const {
  const Extent3 tiles = tiling_.Tiles(phase_size_);
  const auto& axes = tiling_.axes;
  const Extent3 combs{axes[0].comb(), axes[1].comb(), axes[2].comb()};
  const Extent3 multiple{combs[0], combs[1], std::lcm(combs[2], TilesOfALine())};
  if (tiling_.transformed > 1) return packing::Boxes(g.batch, tiles, multiple, most_tiles);
  packing::Extent4 least{1, 1, 1, 1};
  for (int axis = 0; axis < 3; ++axis) {
    if (axes[axis].window > 1) least[axis + 1] = kLeastTilesOfALine * combs[axis];
  }
  const auto distance = [&](int axis) { return std::abs(result_.strides[axis == 0 ? 0 : axis + 1]); };
  std::array<int, 4> order{3, 2, 1, 0};
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return distance(a) < distance(b); });
  return packing::Boxes({g.batch, tiles[0], tiles[1], tiles[2]}, multiple, least, order, most_tiles);
}

double DataStep::EstimateWork(const Geometry& g) const {
  const double points = static_cast<double>(tiling_.points());
  const double sources = static_cast<double>(padded_sources_), vectors = panels_.work();
  const double lanes = vectors * kWorkLanes;
  const double positions = static_cast<double>(g.batch * result_size_[0] * result_size_[1] * result_size_[2]);
  const double boxes = static_cast<double>(boxes_.count());
  const Extent3 axis_tiles = tiling_.Tiles(phase_size_);
  const double tiles = static_cast<double>(g.batch * axis_tiles[0] * axis_tiles[1] * axis_tiles[2]);
  const packing::Extent4& box = boxes_.extent();
  const double box_tiles = static_cast<double>(std::max<int64_t>(1, boxes_.positions()));
  const double phases = static_cast<double>(tiling_.phases());
  const double box_positions = box_tiles * static_cast<double>(tiling_.tile()) * phases;
  const double reach = static_cast<double>(SlabPixels(box)) / box_positions;
  const double chunks = static_cast<double>(CeilDiv(source_channels_, terms_chunk_));
  const int64_t rows_a_call = small() ? boxes_.positions() : panels_.most_rows();
  const double calls = boxes * static_cast<double>(CeilDiv(boxes_.positions(), rows_a_call) * panels_.blocks());
  double tile_products = static_cast<double>(g.batch), kernel_vectors = boxes;
  for (int axis = 0; axis < 3; ++axis) {
    tile_products *= tiling_.axes[axis].Products(phase_size_[axis]);
    kernel_vectors *= static_cast<double>(tiling_.axes[axis].products());
  }
  const double products =
      in_parts() ? WorkInParts(g, tile_products)
                 : sources * vectors * (tile_products / Efficiency() + kernel_vectors * kWorkAKernelVector) +
                       points * phases * chunks *
                           (tiles * vectors * kWorkATileVector + calls * kWorkATileCall +
                            boxes * static_cast<double>(panels_.blocks()) * kWorkAPoint);
  const double windows_a_tile = static_cast<double>(windows(box)) / box_tiles;
  const double share = points / kWorkPoints;
  const double window_work = static_cast<double>(passes(g)) * sources *
                             (positions * reach * kWorkASlabElem + tiles * windows_a_tile * share * kWorkAWindowElem);
  const double store = result_.dtype == numerics::DType::kFloat32 ? kWorkAStore : kWorkAConvertedStore;
  const double results = lanes * (positions * store + tiles * phases * share * kWorkATileElem);
  const auto by_channels = [](const Operand& operand) { return operand.strides[1] == 1 && operand.strides[4] != 1; };
  const int64_t runs = (by_channels(source_) ? CeilDiv(source_channels_, kSlabChannels) : 0) +
                       (by_channels(result_) ? panels_.blocks() : 0);
  const double moves = positions * static_cast<double>(runs) * kWorkARun;
  const double listed = box_tiles * (windows_a_tile * static_cast<double>(tiling_.window()) +
                                     static_cast<double>(tiling_.tile()) * phases);
  const double memory = far_ && !in_parts() ? tensor_bytes_ / kernels::kMemoryLine * kWorkAFarLine : 0;
  return (products + window_work + results + KernelWork() + moves) * static_cast<double>(g.groups) +
         listed * kWorkAListed + memory;
}

double DataStep::Efficiency() const {
  if (panels_.vectors() == 1 && !small()) return kEfficiencyOfOne;
  if (tiling_.phases() > 1) return kEfficiencyOfPhases;
  const int64_t operands = (window_floats() + panels_.blocks() * unit_floats()) * int64_t{sizeof(float)};
  if (!L3IsSlow() || operands <= kNearL2s * base::Cpu().l2_bytes) return kEfficiency;
  return tiling_.transformed > 1 ? kEfficiencyFromAfar : kEfficiencyOfLinesFromAfar;
}

// Of products, with what it takes to bring windows and kernels into parts. Where they do not stay in the L2 together,
// kernels come from further away, once a box, and so do windows and sums that do not fit it themselves.
double DataStep::WorkInParts(const Geometry& g, double tile_products) const {
  const double box_tiles = static_cast<double>(std::max<int64_t>(1, boxes_.positions()));
  const double fill = static_cast<double>(tile_panels() * kernels::kSplitSide) / box_tiles;
  const double lanes = static_cast<double>(RoundUp(result_channels_, kernels::kSplitSide));
  const double terms = static_cast<double>(RoundUp(source_channels_, kKernelChunk));
  const bool near = ScratchBytes() + block_units_ * unit_floats() * int64_t{sizeof(float)} <= kNearBytesInParts;
  const double product =
      split_gemm::WorkAProduct(kParts) / kEfficiencyInParts * fill + (near ? 0 : kWorkAFarKernelInParts / box_tiles);
  const bool moves = window_floats() > kNearWindowFloats;
  const double terms_met = static_cast<double>(tiling_.terms());
  const double window =
      static_cast<double>(passes(g)) * (kWorkANumberInParts * terms_met + (moves ? kWorkAFarWindowElem : 0));
  const double sum = moves ? kWorkAFarSum : 0;
  const double kernels = static_cast<double>(tiling_.points() * tiling_.terms());
  return tile_products * (terms * lanes * product + (terms * window + lanes * sum) / terms_met) +
         kernels * terms * lanes * kWorkANumberInParts;
}

double DataStep::KernelWork() const {
  const double points = static_cast<double>(tiling_.terms() * tiling_.phases() * tiling_.points()) / kWorkPoints;
  return static_cast<double>(padded_sources_) * panels_.work() * kWorkLanes *
         (static_cast<double>(weight_.taps) * kWorkAPackedWeight + points * kWorkAKernelElem);
}

int64_t DataStep::SlabPixels(const packing::Extent4& box) const {
  int64_t pixels = box[0];
  for (int axis = 0; axis < 3; ++axis) {
    const AxisTiling& along = tiling_.axes[axis];
    pixels *= std::max<int64_t>(0, along.Reach(box[axis + 1] * along.tile));
  }
  return pixels;
}

DataScratch DataStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  DataScratch scratch;
  const int64_t lanes = panels_.panel_lanes(), tiles = boxes_.positions();
  const packing::Extent4& box = boxes_.extent();
  scratch.bias = carver.Take<float>(lanes);
  scratch.lines.lines = carver.Take<float>(packing::kLines * (packing::kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(packing::kLine);
  scratch.weight_offsets = carver.Take<int64_t>(std::max(kKernelChunk * weight_.taps, packing::kLines));
  scratch.window_offsets = carver.Take<int64_t>(windows(box) * tiling_.window());
  scratch.tile_offsets = carver.Take<int64_t>(tiling_.phases() * tiles * tiling_.tile());
  scratch.window_kinds = carver.Take<int64_t>(windows(box));
  scratch.tile_kinds = carver.Take<int64_t>(tiles);
  scratch.row_offsets = carver.Take<int64_t>(tiles);
  scratch.sum_offsets = carver.Take<int64_t>(tiles);
  scratch.listed = carver.Take<DataLists>(1);
  // Where windows are of several jobs, all are transformed before the first is multiplied: its memory is the slab's.
  packing::Carver slab(carver);
  packing::Carver& windows_carver = batch_boxes_ > 0 ? slab : carver;
  scratch.slab = windows_carver.Take<float>((SlabPixels(box) + 1) * slab_channels());
  scratch.windows = windows_carver.Take<float>(batch_boxes_ > 0 ? 0 : window_floats());
  scratch.kernels = carver.Take<float>(block_units_ > 0 && !in_parts() ? 0 : kernel_floats());
  scratch.sums = carver.Take<float>(in_parts() ? 0 : tiling_.points() * sum_step());
  const int64_t rows = in_parts() ? tile_panels() : 0;
  scratch.parts = carver.Take<float>(part_blocks() * rows * kPartPanel);
  scratch.blocks = carver.Take<int64_t>(in_parts() ? part_blocks() : 0);
  scratch.asks = carver.Take<const void*>(kernels::SplitAsks(rows, part_panels(), kernels::kSplitBlocks, kParts));
  scratch.tiles = carver.Take<float>((tiles * tiling_.phases() * tiling_.tile() + 1) * lanes);
  scratch.weights = carver.Take<float>(packed_chunks() * packed_floats());
  if (bytes != nullptr) *bytes = std::max(carver.used(), slab.used());
  return scratch;
}

std::string DataStep::Describe() const {
  const packing::Extent4& box = boxes_.extent();
  const auto at_once = [](int64_t count, const char* what) {
    return count > 0 ? std::to_string(count) + " " + what + " at once" : "in each job";
  };
  const auto& axes = tiling_.axes;
  const std::string phases = tiling_.phases() > 1 ? " of each of " + std::to_string(tiling_.phases()) + " phases" : "";
  return std::to_string(axes[0].tile) + "x" + std::to_string(axes[1].tile) + "x" + std::to_string(axes[2].tile) +
         " tiles" + phases + " in boxes of " + std::to_string(box[0]) + " images by " + std::to_string(box[1]) + "x" +
         std::to_string(box[2]) + "x" + std::to_string(box[3]) + ", panels of " +
         std::to_string(panels_.panel_lanes()) + " result channels; kernels transformed " +
         (own_units_ ? "by each thread for a panel" : at_once(block_units_, "panels")) + ", windows " +
         at_once(batch_boxes_, "boxes") + (in_parts() ? "; numbers in three parts" : "") +
         (streamed_ != StreamedRows::kNone ? "; results past the caches" : "");
}

}  // namespace canopy::conv::winograd
