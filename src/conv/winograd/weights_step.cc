// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/weights_step.h"

#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "conv/channel_lanes/scratch.h"
#include "exec/pool.h"

namespace canopy::conv::winograd {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kVector = 16;
constexpr int64_t kTileChoices[] = {32, 64, 128};
constexpr int64_t kChannelChoices[] = {64, 128, 256, 512};
constexpr int64_t kWidestPanel = 64;       // input channels side by side
constexpr int64_t kSlabFloats = 48 << 10;  // of a band's input: 192 KiB of a 1 MiB L2
constexpr int64_t kMostBandColumns = 64;
// Of the tensors' bytes and besides, for everything but further threads' working memory.
constexpr double kRoomShare = 0.15, kMostTensorBytes = 1e15;
constexpr int64_t kRoomBytes = int64_t{8} << 20;
constexpr int64_t kOverflowed = -1;                   // bytes that no ledger takes
constexpr int64_t kEnoughJobs = 8, kFewestJobs = 4;   // for threads to work apart
constexpr int64_t kMostSumsBytes = int64_t{3} << 20;  // of all segments
enum Way { kTogether, kTogetherWithAllOutputs, kApart };

// In units of Step::Work.
constexpr double kEfficiency = 0.92;  // of the products
constexpr double kWorkASlabElem = 1.2;
constexpr double kWorkAnInputTile = 330, kWorkAnOutputTile = 200;  // a vector of one, transformed
constexpr double kWorkAnInputList = 360, kWorkAnOutputList = 180;  // a tile of a panel, whatever its vectors
constexpr double kWorkASum = 4;                                    // adding a vector of products
constexpr double kWorkATileCall = 60;
constexpr double kWorkABack = 250;  // a vector of products transformed back
constexpr double kWorkAStore = 1.5;
constexpr double kWorkAPartial = 1;     // adding one element of a segment
constexpr double kWorkARegion = 40000;  // threads wait for one another, and for what others wrote

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger)
    : direct_(problem, &direct_ledger_) {
  const Geometry& g = problem.geometry;
  groups_ = g.groups;
  input_channels_ = g.group_input_channels();
  output_channels_ = g.group_output_channels();
  images_ = g.batch * g.output_size[0];
  rows_ = CeilDiv(g.output_size[1], kTile);
  columns_ = CeilDiv(g.output_size[2], kTile);
  ChooseCut(problem);
  room_ = RoomOf(cut_, exec::ThreadCount());
  const int64_t bytes = std::max(room_.total, direct_ledger_.total_bytes());
  room_handle_ =
      ledger->Book("transformed tiles and their products", direct_ledger_.overflowed() ? kOverflowed : bytes);
}

void WeightsStep::ChooseCut(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  const auto bytes = [](const Operand& operand, int64_t planes, const Extent3& size) {
    double elems = static_cast<double>(planes);
    for (const int64_t extent : size) elems *= static_cast<double>(extent);
    return elems * static_cast<double>(numerics::ElementBytes(operand.dtype));
  };
  const double tensors = bytes(problem.input, g.batch * g.input_channels, g.input_size) +
                         bytes(problem.output, g.batch * g.output_channels, g.output_size) +
                         bytes(problem.weight_result, g.output_channels * input_channels_, g.kernel);
  const int64_t room = kRoomBytes + static_cast<int64_t>(kRoomShare * std::min(tensors, kMostTensorBytes));
  const TileBands bands = ChooseBands();
  bool chosen = false;
  int64_t last_tiles = 0;
  for (const int64_t tiles : kTileChoices) {
    Cut cut = CutTiles(bands, tiles);
    if (cut.chunk_tiles == last_tiles) continue;
    last_tiles = cut.chunk_tiles;
    for (const int64_t inputs : kChannelChoices) {
      for (const int64_t outputs : kChannelChoices) {
        CutChannels(inputs, outputs, &cut);
        for (const Way way : {kTogether, kTogetherWithAllOutputs, kApart}) {
          cut.apart = way == kApart;
          cut.all_outputs = way == kTogetherWithAllOutputs;
          CutSegments(&cut);
          if (cut.apart && Blocks(cut) * cut.segments < kFewestJobs) continue;
          const Room needed = RoomOf(cut, 1);
          if (chosen && (needed.total > room || needed.scratch_bytes > kRoomBytes)) continue;
          cut.work = WorkOf(g, cut);
          if (!chosen || cut.work < cut_.work) cut_ = cut;
          chosen = true;
        }
      }
    }
  }
}

// Whole rows of planes, unless those are very long: then channels are read in long stretches. As many rows as the cache
// takes, for few to be read twice.
TileBands WeightsStep::ChooseBands() const {
  const auto pixels = [](int64_t tiles) { return tiles * kTile + kWindow - kTile; };
  const int64_t columns = CeilDiv(columns_, CeilDiv(columns_, kMostBandColumns));
  const int64_t most_rows = std::max<int64_t>(1, kSlabFloats / (pixels(columns) * kWidestPanel * kTile));
  return TileBands(images_, rows_, columns_, CeilDiv(rows_, CeilDiv(rows_, most_rows)), columns);
}

WeightsStep::Cut WeightsStep::CutTiles(const TileBands& bands, int64_t most_tiles) const {
  Cut cut;
  cut.bands = bands;
  const int64_t tiles = images_ * rows_ * columns_;
  cut.chunk_bands = CeilDiv(bands.count(), CeilDiv(tiles, most_tiles));
  cut.chunks = CeilDiv(bands.count(), cut.chunk_bands);
  cut.chunk_tiles = std::min(tiles, cut.chunk_bands * bands.rows() * bands.columns());
  return cut;
}

void WeightsStep::CutChannels(int64_t inputs, int64_t outputs, Cut* cut) const {
  cut->inputs_panel = RoundUp(CeilDiv(input_channels_, CeilDiv(input_channels_, kWidestPanel)), kVector);
  const int64_t panels = CeilDiv(input_channels_, cut->inputs_panel);
  cut->input_panels = CeilDiv(panels, CeilDiv(panels, std::max<int64_t>(1, inputs / cut->inputs_panel)));
  cut->lanes = channel_lanes::LanePanels(output_channels_, outputs);
}

void WeightsStep::CutSegments(Cut* cut) const {
  cut->segments = 1;
  cut->segment_chunks = cut->chunks;
  if (!cut->apart) return;
  const int64_t blocks = Blocks(*cut), bytes = blocks * cut->sums_floats() * static_cast<int64_t>(sizeof(float));
  const int64_t most = std::max<int64_t>(1, std::min(cut->chunks, kMostSumsBytes / bytes));
  cut->segment_chunks = CeilDiv(cut->chunks, std::min(most, CeilDiv(kEnoughJobs, blocks)));
  cut->segments = CeilDiv(cut->chunks, cut->segment_chunks);
}

double WeightsStep::WorkOf(const Geometry& g, const Cut& cut) const {
  const double channels = static_cast<double>(input_channels_), tiles = static_cast<double>(images_ * rows_ * columns_);
  const double vectors = static_cast<double>(RoundUp(output_channels_, kVector) / kVector);
  const double input_vectors = static_cast<double>(RoundUp(input_channels_, kVector) / kVector);
  const double chunks = static_cast<double>(cut.chunks), lane_blocks = static_cast<double>(cut.lanes.blocks());
  const double input_blocks = static_cast<double>(CeilDiv(input_channels_, cut.block_inputs()));
  const bool once = cut.chunks == 1 && !cut.apart;
  const double input_turns = once ? 1 : lane_blocks;
  const double output_turns = once && (cut.all_outputs || cut.lanes.blocks() == 1) ? 1 : input_blocks;
  const auto slab = [&](int64_t tile) {  // elements a tile and channel
    const int64_t height = cut.bands.rows() * kTile + tile - kTile;
    const int64_t width = cut.bands.columns() * kTile + tile - kTile;
    return static_cast<double>(std::min(height, g.output_size[1]) * std::min(width, g.output_size[2])) /
           static_cast<double>(cut.bands.rows() * cut.bands.columns());
  };
  const double input_panels = static_cast<double>(CeilDiv(input_channels_, cut.inputs_panel));
  const double output_panels = vectors * kVector / static_cast<double>(cut.row_lanes());
  const double transforms =
      tiles * (input_turns * (input_vectors * (kVector * slab(kWindow) * kWorkASlabElem + kWorkAnInputTile) +
                              input_panels * kWorkAnInputList) +
               output_turns * (vectors * (kVector * slab(kTile) * kWorkASlabElem + kWorkAnOutputTile) +
                               output_panels * kWorkAnOutputList));
  const double sums = chunks * static_cast<double>(CeilDiv(cut.chunk_tiles, kTilesASum));
  const double calls = sums * kPoints * channels / cut.lanes.most_rows() * vectors * kVector /
                       static_cast<double>(cut.lanes.panel_lanes());
  const double products =
      kPoints * channels * vectors * (tiles / kEfficiency + sums * kWorkASum) + calls * kWorkATileCall;
  const double segments = static_cast<double>(cut.segments);
  const double turns = segments * static_cast<double>(CeilDiv(cut.segment_chunks, cut.turn_chunks()));
  const double back =
      channels * vectors * (turns * kWorkABack + kVector * kTaps * (kWorkAStore + (segments - 1) * kWorkAPartial));
  const double alone = static_cast<double>(g.groups) * (transforms + products + back);
  if (cut.apart || alone < kSerialWork) return alone;
  return alone + (2 * chunks + 1) * static_cast<double>(Blocks(cut)) * kWorkARegion;
}

WeightsStep::Room WeightsStep::RoomOf(const Cut& cut, int threads) const {
  channel_lanes::Carver carver(nullptr);
  const auto bytes = [&carver](int64_t count) {
    const int64_t at = carver.used();
    carver.Take<char>(count);
    return at;
  };
  Room room;
  int64_t shared = 0;
  if (!cut.apart) TilesAt(cut, nullptr, &shared);
  const int64_t sums = cut.segments > 1 ? Blocks(cut) * cut.segments : !cut.apart && Deep(cut) ? 1 : 0;
  room.shared = bytes(shared);
  room.sums = bytes(sums * cut.sums_floats() * static_cast<int64_t>(sizeof(float)));
  room.flag = bytes(sizeof(std::atomic<int>));
  room.scratch = carver.used();
  ScratchAt(cut, nullptr, &room.scratch_bytes);
  room.total = room.scratch + room.scratch_bytes * threads;
  return room;
}

WeightsTiles WeightsStep::TilesAt(const Cut& cut, char* at, int64_t* bytes) const {
  channel_lanes::Carver carver(at);
  WeightsTiles tiles;
  tiles.inputs = carver.Take<float>(cut.input_panels * cut.inputs_floats());
  tiles.outputs = carver.Take<float>(cut.output_blocks_kept() * cut.output_panels() * cut.outputs_floats());
  tiles.products = carver.Take<float>(cut.input_panels * cut.output_panels() * cut.products_floats());
  if (bytes != nullptr) *bytes = carver.used();
  return tiles;
}

WeightsScratch WeightsStep::ScratchAt(const Cut& cut, char* at, int64_t* bytes) const {
  channel_lanes::Carver carver(at);
  WeightsScratch scratch{};
  const int64_t height = cut.bands.rows() * kTile, width = cut.bands.columns() * kTile, over = kWindow - kTile;
  const int64_t input = ((height + over) * (width + over) + 1) * cut.inputs_panel;
  const int64_t output = (height * width + 1) * cut.row_lanes();
  scratch.slab = carver.Take<float>(std::max(input, output));
  scratch.lines.lines = carver.Take<float>(channel_lanes::kLines * (channel_lanes::kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(channel_lanes::kLine);
  scratch.offsets = carver.Take<int64_t>(kPoints);
  scratch.taps = carver.Take<float>(kStoreRows * kTaps * cut.row_lanes());
  if (cut.apart) {
    int64_t tiles_bytes = 0;
    TilesAt(cut, nullptr, &tiles_bytes);
    scratch.tiles = TilesAt(cut, carver.Take<char>(tiles_bytes), nullptr);
    if (cut.segments == 1 && Deep(cut)) scratch.sums = carver.Take<float>(cut.sums_floats());
  }
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string WeightsStep::Describe() const {
  return "chunks of " + std::to_string(cut_.chunk_tiles) + " tiles in bands of " + std::to_string(cut_.bands.rows()) +
         "x" + std::to_string(cut_.bands.columns()) + ", blocks of " + std::to_string(cut_.input_panels) + "x" +
         std::to_string(cut_.inputs_panel) + " input by " + std::to_string(cut_.output_panels()) + "x" +
         std::to_string(cut_.lanes.panel_lanes()) + " output channels" +
         (cut_.apart ? ", " + std::to_string(cut_.segments) + " segments" : std::string(", together"));
}

}  // namespace canopy::conv::winograd
