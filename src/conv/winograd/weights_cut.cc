// SPDX-License-Identifier: Apache-2.0
// How weight gradients are cut: every cut of a short list is priced, and the cheapest that fits is taken.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked_math.h"
#include "conv/split_gemm/estimates.h"
#include "conv/streams.h"
#include "conv/tensor_bytes.h"
#include "conv/winograd/weights_step.h"

namespace canopy::conv::winograd {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kVector = 16;
constexpr int64_t kTileChoices[] = {32, 64, 128, 256, 512};
constexpr int64_t kPointsOfTiles = 36 * 128;      // transformed numbers of a chunk and channel, at most;
constexpr int64_t kPointsOfDeepTiles = 36 * 256;  // where depths share them
constexpr int64_t kFewestPointsOfTiles = 6 * 64;
constexpr int64_t kDepthChoices[] = {4, 8, 16};  // of a band, where the kernel has depths
constexpr int64_t kChannelChoices[] = {64, 128, 256, 512};
constexpr int64_t kWidestPanel = 64;       // input channels side by side
constexpr int64_t kSlabFloats = 48 << 10;  // of a slice of a band's input: 192 KiB of a 1 MiB L2
constexpr int64_t kMostBandPixels = 256;   // side by side
constexpr int64_t kFewestBandTiles = 2;    // along a transformed depth, whose ends are read twice
constexpr double kMostRoom = 1.5e14;       // bytes for everything but further threads' working memory
constexpr int64_t kMostScratch = kThreadBytes - plan::WorkspaceLedger::kMostGap;
constexpr int64_t kEnoughJobs = 8, kFewestJobs = 4;   // for threads to work apart
constexpr int64_t kMostSumsBytes = int64_t{7} << 19;  // of all segments
enum Way { kTogether, kTogetherWithAllOutputs, kApart };

// In units of Step::Work.
constexpr double kEfficiency = 0.92;              // of the products
constexpr double kEfficiencyOfFarSquares = 0.65;  // where the L3 is slow
constexpr double kEfficiencyOfOne = 0.75;         // likewise, of one vector: every multiply-add has a load
constexpr double kEfficiencyInParts = 0.75;
constexpr double kWorkASlabElem = 1.2;
constexpr double kWorkASum = 4;      // adding a vector of products,
constexpr double kWorkAFarSum = 12;  // and more where a block's products share the L3 with little else:
constexpr int64_t kNearProducts = 7 << 18;
constexpr double kWorkAFarSumInParts = 25;  // where they leave the L2
constexpr int64_t kNearProductsInParts = 256 << 10;
constexpr double kWorkATileCall = 60;
constexpr double kWorkAPoint = 300;       // of a chunk, before its tile calls
constexpr double kWorkAListedPoint = 14;  // of a tile, listed once for all bands alike
constexpr double kWorkAFarVector = 20;    // more for one that is transformed, where a chunk's do not stay near
constexpr int64_t kNearFloats = 2 << 20;
constexpr double kWorkAStore = 1.5;
constexpr double kWorkASharedVector = 4;  // a transformed one that other threads read, at times from far caches
constexpr double kWorkAPartial = 1;       // adding one element of a segment
constexpr double kWorkARegion = 40000;    // threads wait for one another, and for what others wrote:
constexpr double kMostOfARegion = 0.02;   // at most so much of the whole
// A vector of an input tile, or of an output tile of 4 an axis, transformed; a tile of a panel, whatever its vectors; a
// vector of products transformed back to 3 taps an axis.
struct TransformCosts {
  double input, output, input_list, output_list, back;
};
constexpr TransformCosts kLineCosts = {55, 40, 15, 12, 25};
constexpr TransformCosts kSquareCosts = {330, 200, 60, 40, 140};

// Other sizes cost as many loads and stores more or fewer.
TransformCosts CostsOf(const WeightsShape& shape) {
  TransformCosts costs = shape.axes == 1 ? kLineCosts : kSquareCosts;
  const auto moves = [&](int64_t side) {
    return static_cast<double>(shape.points() + (shape.axes == 1 ? side : side * side));
  };
  costs.output *= moves(kWindow + 1 - shape.side) / moves(4);
  costs.back *= moves(shape.side) / moves(3);
  return costs;
}

}  // namespace

// The cheapest that fits the workspace; if none does, that needs least of it, for where no other algorithm serves.
void WeightsStep::ChooseCut(const ConvProblem& problem) {
  const int64_t room = static_cast<int64_t>(std::min(PromisedBytes(problem, kBackwardWeights), kMostRoom));
  const int64_t most_points = shape_.depths > 1 ? kPointsOfDeepTiles : kPointsOfTiles;
  int64_t over = std::numeric_limits<int64_t>::max();
  WeightsCut last;
  for (const int64_t tiles : kTileChoices) {
    const int64_t points = tiles * shape_.points();
    if (points > most_points || points < kFewestPointsOfTiles) continue;
    for (const int64_t depths : kDepthChoices) {
      const WeightsCut cut = CutTiles(tiles, depths);
      if (cut.bands.extent() == last.bands.extent() && cut.chunks == last.chunks) continue;
      last = cut;
      ChooseChannels(cut, room, &over);
    }
  }
  if (over > 0) cut_.work += kNoRoom;
}

void WeightsStep::ChooseChannels(WeightsCut cut, int64_t room, int64_t* over) {
  // Whether half as many were all.
  const auto vain = [](int64_t most, int64_t channels) { return most > kChannelChoices[0] && most / 2 >= channels; };
  for (const int64_t inputs : kChannelChoices) {
    if (vain(inputs, input_channels_)) break;
    for (const int64_t outputs : kChannelChoices) {
      if (vain(outputs, output_channels_)) break;
      CutChannels(inputs, outputs, &cut);
      for (const Way way : {kTogether, kTogetherWithAllOutputs, kApart}) {
        cut.apart = way == kApart;
        cut.all_outputs = way == kTogetherWithAllOutputs;
        CutSegments(&cut);
        if (cut.apart && Blocks(cut) * cut.segments < kFewestJobs) continue;
        const Room needed = RoomOf(cut);
        const int64_t total = needed.shared + needed.sums + needed.biases + needed.scratch + kBesidesBytes;
        const int64_t over_now = std::max<int64_t>(0, std::max(total - room, needed.scratch - kMostScratch));
        if (over_now > *over) continue;
        cut.work = WorkOf(cut);
        if (over_now < *over || cut.work < cut_.work) cut_ = cut;
        *over = over_now;
      }
    }
  }
}

// Whole rows of planes, unless those are very long: then channels are read in long stretches. As many rows as the cache
// takes, for few to be read twice. Where the kernel has depths, or the depth is transformed, neighbouring depths share
// what is transformed: then as many of those first.
TileBands WeightsStep::ChooseBands(int64_t most_tiles, int64_t most_depths) const {
  const auto pixels = [&](int axis, int64_t tiles) { return shape_.Reach(axis, tiles * shape_.tile[axis]); };
  Extent3 extent{1, 1, 1};
  const bool deep = shape_.depths > 1;
  if (deep) extent[0] = base::PartSize(grid_[0], most_depths);
  const int64_t most_columns = kMostBandPixels / (shape_.tile[2] * shape_.stride[1] * shape_.stride[2]);
  extent[2] = base::PartSize(grid_[2], deep ? std::min(most_columns, most_tiles / extent[0]) : most_columns);
  const int64_t column_floats = pixels(2, extent[2]) * kWidestPanel;
  if (shape_.in_depth()) {
    const int64_t most = kSlabFloats / (column_floats * pixels(1, 1) * shape_.tile[0] * shape_.stride[0]);
    extent[0] = base::PartSize(grid_[0], std::max(kFewestBandTiles, most));
  }
  const int64_t slice_depths = shape_.in_depth() ? pixels(0, extent[0]) : 1;
  const int64_t most_rows = kSlabFloats / (column_floats * slice_depths * shape_.tile[1] * shape_.stride[1]);
  extent[1] = base::PartSize(grid_[1], deep ? std::min(most_rows, most_tiles / (extent[0] * extent[2])) : most_rows);
  for (int axis = 0; axis < 3; ++axis) extent[axis] = RoundUp(extent[axis], shape_.dilation[axis]);
  return TileBands(g_.batch, grid_, extent);
}

WeightsCut WeightsStep::CutTiles(int64_t most_tiles, int64_t most_depths) const {
  WeightsCut cut;
  cut.shape = shape_;
  cut.bands = ChooseBands(most_tiles, most_depths);
  const int64_t tiles = g_.batch * grid_[0] * grid_[1] * grid_[2];
  cut.chunk_bands = CeilDiv(cut.bands.count(), CeilDiv(tiles, most_tiles));
  cut.chunks = CeilDiv(cut.bands.count(), cut.chunk_bands);
  const Extent3& band = cut.bands.extent();
  cut.band_outputs = band[0] * band[1] * band[2];
  cut.band_inputs = cut.band_outputs;
  if (!shape_.in_depth()) {
    cut.band_inputs = std::min(shape_.InputDepths(band[0]), g_.input_size[0]) * band[1] * band[2];
  }
  return cut;
}

void WeightsStep::CutChannels(int64_t inputs, int64_t outputs, WeightsCut* cut) const {
  cut->inputs_panel = RoundUp(base::PartSize(input_channels_, kWidestPanel), kVector);
  cut->input_panels = base::PartSize(CeilDiv(input_channels_, cut->inputs_panel), inputs / cut->inputs_panel);
  cut->lanes = packing::LanePanels(output_channels_, outputs);
}

void WeightsStep::CutSegments(WeightsCut* cut) const {
  cut->segments = 1;
  cut->segment_chunks = cut->chunks;
  if (!cut->apart) return;
  const int64_t blocks = Blocks(*cut), bytes = blocks * cut->sums_floats() * static_cast<int64_t>(sizeof(float));
  int64_t most = std::max<int64_t>(1, std::min(cut->chunks, kMostSumsBytes / bytes));
  // Threads share five jobs badly: rather more than enough, or else a multiple of four.
  while (most > 1 && blocks * most < kEnoughJobs && blocks * most % kFewestJobs != 0) --most;
  const int64_t enough = std::max<int64_t>(1, cut->chunks / CeilDiv(kEnoughJobs, blocks));
  cut->segment_chunks = std::max(enough, CeilDiv(cut->chunks, most));
  cut->segments = CeilDiv(cut->chunks, cut->segment_chunks);
}

// Tiles of input and output that meet, of a group.
double WeightsStep::PairsOfTiles() const {
  double pairs = static_cast<double>(g_.batch * grid_[1] * grid_[2]);
  if (shape_.in_depth()) return pairs * static_cast<double>(grid_[0]);
  int64_t planes = 0;
  for (int64_t depth = 0; depth < shape_.depths; ++depth) {
    const int64_t shift = depth - g_.pad_begin[0];
    const auto before = [&](int64_t input) {  // outputs that meet depths before it
      return std::min(grid_[0], CeilDiv(std::max<int64_t>(0, input - shift), shape_.depth_stride));
    };
    planes += before(g_.input_size[0]) - before(0);
  }
  return pairs * static_cast<double>(planes);
}

double WeightsStep::WorkOf(const WeightsCut& cut) const {
  const double channels = static_cast<double>(input_channels_), chunks = static_cast<double>(cut.chunks);
  const double vectors = static_cast<double>(RoundUp(output_channels_, kVector) / kVector);
  const double segments = static_cast<double>(cut.segments), taps = static_cast<double>(shape_.all_taps());
  const double turns = segments * static_cast<double>(CeilDiv(cut.segment_chunks, cut.turn_chunks()));
  const double back = channels * vectors *
                      (turns * static_cast<double>(shape_.products()) * CostsOf(shape_).back +
                       kVector * taps * (kWorkAStore + (segments - 1) * kWorkAPartial));
  const double products = (in_parts() ? ProductWorkInParts(cut) : ProductWork(cut)) +
                          static_cast<double>(cut.band_outputs * shape_.points()) * kWorkAListedPoint;
  const double alone = static_cast<double>(g_.groups) * (TransformWork(cut) + products + back);
  if (cut.apart || alone < kSerialWork) return alone;
  const double regions = (2 * chunks + 1) * static_cast<double>(Blocks(cut));
  return alone + regions * std::min(kWorkARegion, kMostOfARegion * alone);
}

double WeightsStep::ProductWork(const WeightsCut& cut) const {
  const double channels = static_cast<double>(input_channels_), points = static_cast<double>(shape_.NeededPoints());
  const double vectors = static_cast<double>(RoundUp(output_channels_, kVector) / kVector);
  const double depths = static_cast<double>(shape_.depths), chunks = static_cast<double>(cut.chunks);
  const double whole = points * static_cast<double>(grid_[0] * grid_[1] * grid_[2]);
  const double pairs =
      PairsOfTiles() * (shape_.Products(g_.output_size) / whole);  // those at the ends have fewer points
  const double sums = chunks * depths * static_cast<double>(cut.most_sums());
  const double calls = sums * points * channels / cut.lanes.most_rows() * vectors * kVector /
                       static_cast<double>(cut.lanes.panel_lanes());
  const double pairs_of_panels = static_cast<double>(CeilDiv(input_channels_, cut.inputs_panel)) *
                                 std::ceil(vectors * kVector / static_cast<double>(cut.lanes.panel_lanes()));
  const double several = L3IsSlow() && shape_.axes > 1 ? kEfficiencyOfFarSquares : kEfficiency;
  const double efficiency = cut.lanes.panel_lanes() > kVector ? several : std::min(several, kEfficiencyOfOne);
  const double sum_work = kWorkASum + (cut.all_products_floats() > kNearProducts ? kWorkAFarSum : 0);
  return points * channels * vectors * (pairs / efficiency + sums * sum_work) + calls * kWorkATileCall +
         chunks * depths * points * pairs_of_panels * kWorkAPoint;
}

// Whole blocks of tiles and panels of channels; each block of channels takes apart its own.
double WeightsStep::ProductWorkInParts(const WeightsCut& cut) const {
  const double rows = static_cast<double>(RoundUp(input_channels_, kVector)),
               lanes = static_cast<double>(RoundUp(output_channels_, kVector));
  const double calls = static_cast<double>(cut.chunks * shape_.depths * shape_.NeededPoints());
  const double pairs = PairsOfTiles() / static_cast<double>(cut.chunks * shape_.depths);  // of a chunk and depth
  const double blocks = std::ceil(pairs / kernels::kSplitTerms), passes = std::ceil(blocks / kPartsBlocks);
  const double taken_apart = rows * static_cast<double>(cut.lanes.blocks()) * split_gemm::kWorkATurnedNumber +
                             lanes * static_cast<double>(InputBlocks(cut)) * split_gemm::kWorkASplitNumber;
  const double sum_work = kWorkASum + (cut.all_products_floats() > kNearProductsInParts ? kWorkAFarSumInParts : 0);
  return calls * (blocks * kernels::kSplitTerms *
                      (rows * lanes * split_gemm::WorkAProduct(kParts) / kEfficiencyInParts + taken_apart) +
                  passes * rows * lanes / kVector * sum_work);
}

// Of all tiles of a group.
double WeightsStep::TransformWork(const WeightsCut& cut) const {
  const double tiles = static_cast<double>(g_.batch * grid_[0] * grid_[1] * grid_[2]);
  const Extent3& band = cut.bands.extent();
  double input_tiles = tiles;
  if (shape_.depths > 1) {  // bands share depths
    input_tiles = 0;
    for (int64_t first = 0; first < grid_[0]; first += band[0]) {
      const TileBand slices{0, {first, 0, 0}, {std::min(band[0], grid_[0] - first), 0, 0}};
      input_tiles += static_cast<double>(InputSlices(slices).count * g_.batch * grid_[1] * grid_[2]);
    }
  }
  const auto slab = [&](bool inputs) {  // elements a tile and channel
    double elems = 1;
    for (int axis = shape_.in_depth() ? 0 : 1; axis < 3; ++axis) {
      const int64_t outputs = std::min(band[axis] * shape_.tile[axis], g_.output_size[axis]);
      const int64_t pixels = inputs ? std::min(shape_.Reach(axis, outputs), g_.input_size[axis]) : outputs;
      elems *= static_cast<double>(pixels) / static_cast<double>(band[axis]);
    }
    return elems;
  };
  const bool once = cut.chunks == 1 && !cut.apart;
  const double lane_blocks = static_cast<double>(cut.lanes.blocks()),
               input_blocks = static_cast<double>(InputBlocks(cut));
  const double input_turns = once ? 1 : lane_blocks;
  const double output_turns = once && (cut.all_outputs || cut.lanes.blocks() == 1) ? 1 : input_blocks;
  const double vectors = static_cast<double>(RoundUp(output_channels_, kVector) / kVector);
  const double input_vectors = static_cast<double>(RoundUp(input_channels_, kVector) / kVector);
  const double input_panels = static_cast<double>(CeilDiv(input_channels_, cut.inputs_panel));
  const double output_panels = vectors * kVector / static_cast<double>(cut.row_lanes());
  TransformCosts costs = CostsOf(shape_);
  const double parts = static_cast<double>(shape_.parts()), points = static_cast<double>(shape_.points());
  if (!cut.apart) {
    costs.input += points * kWorkASharedVector;
    costs.output += points * kWorkASharedVector;
  }
  if (cut.all_inputs_floats() > kNearFloats) {
    costs.input += points * kWorkAFarVector;
  }
  return input_tiles * input_turns *
             (input_vectors * (kVector * slab(true) * kWorkASlabElem + parts * costs.input) +
              input_panels * parts * costs.input_list) +
         tiles * output_turns *
             (vectors * (kVector * slab(false) * kWorkASlabElem + costs.output) + output_panels * costs.output_list);
}

}  // namespace canopy::conv::winograd
