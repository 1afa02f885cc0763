// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/weights_step.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/packing/scratch.h"
#include "conv/streams.h"
#include "conv/tensor_bytes.h"
#include "exec/pool.h"
#include "kernels/streams.h"

namespace canopy::conv::winograd {
namespace {

constexpr double kWorkASummedElem = 0.1;  // of output, in units of Step::Work

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger,
                         Products products)
    : g_(problem.geometry),
      bias_((computation & kBiasFromOutput) != 0),
      products_(products),
      shape_(g_),
      direct_(problem, ledger) {
  ledger->StartOver();  // its time is after this step's own
  input_channels_ = g_.group_input_channels();
  output_channels_ = g_.group_output_channels();
  for (int axis = 0; axis < 3; ++axis) grid_[axis] = shape_.Tiles(axis, g_.output_size[axis]);
  ChooseCut(problem);
  if (shape_.axes > 1 && !in_parts() && OutgrowsCaches(problem, kBackwardWeights)) {
    cut_.work += TensorBytes(problem, kBackwardWeights) / kernels::kMemoryLine * kWorkAFarLine;
  }
  if (bias_) {
    const int64_t pixels = g_.output_size[0] * g_.output_size[1] * g_.output_size[2];
    bias_work_ = kWorkASummedElem * static_cast<double>(g_.batch * g_.output_channels * pixels);
  }
  const Room room = RoomOf(cut_);
  if (!cut_.apart) shared_handle_ = ledger->Book("transformed tiles and their products", room.shared);
  if (room.sums > 0) sums_handle_ = ledger->Book("sums of segments", room.sums);
  if (bias_) biases_handle_ = ledger->Book("partial bias gradients", room.biases);
  losses_handle_ = ledger->Book("what parts cannot express", sizeof(split_gemm::Losses));
  scratch_handle_ = ledger->BookEach("scratch", room.scratch, exec::ThreadCount());
}

WeightsStep::Slices WeightsStep::OutputSlices(const TileBand& band) const {
  return shape_.in_depth() ? Slices{0, 1} : Slices{band.first[0], band.count[0]};
}

WeightsStep::Slices WeightsStep::InputSlices(const TileBand& band) const {
  if (shape_.in_depth()) return {0, 1};
  const int64_t first = band.first[0] * shape_.depth_stride - g_.pad_begin[0];
  const int64_t last = first + shape_.InputDepths(band.count[0]);
  const int64_t begin = std::clamp<int64_t>(first, 0, g_.input_size[0]);
  return {begin, std::clamp<int64_t>(last, begin, g_.input_size[0]) - begin};
}

TileKinds WeightsStep::KindsOf(const TileBand& band) const {
  TileKinds kinds;
  int64_t slot = 0;
  for (int kind = 0; kind < WeightsShape::kKinds; ++kind) {
    KindTiles& tiles = kinds[kind];
    tiles = {{}, band.count, slot};
    if (!shape_.in_depth()) tiles.count[0] = 1;
    int left = kind;  // bits that no axis has
    for (int axis = 0; axis < 3; ++axis) {
      if (!shape_.transforms(axis)) continue;
      const int bit = shape_.KindBit(axis);
      left &= ~bit;
      const bool ends = band.first[axis] + band.count[axis] == grid_[axis] && shape_.rest[axis] < shape_.tile[axis];
      if ((kind & bit) != 0) {
        tiles.first[axis] = band.count[axis] - 1;
        tiles.count[axis] = ends ? 1 : 0;
      } else if (ends) {
        --tiles.count[axis];
      }
    }
    if (left != 0) tiles.count[2] = 0;
    slot += tiles.tiles();
  }
  return kinds;
}

WeightsStep::Room WeightsStep::RoomOf(const WeightsCut& cut) const {
  Room room;
  if (!cut.apart) TilesAt(cut, nullptr, &room.shared);
  const int64_t sums = cut.segments > 1 ? Blocks(cut) * cut.segments : !cut.apart && cut.deep() ? 1 : 0;
  room.sums = sums * cut.sums_floats() * static_cast<int64_t>(sizeof(float));
  room.biases = bias_ ? BiasSlots(cut) * g_.output_channels * static_cast<int64_t>(sizeof(double)) : 0;
  ScratchAt(cut, nullptr, &room.scratch);
  return room;
}

WeightsTiles WeightsStep::TilesAt(const WeightsCut& cut, char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  const int64_t lists = shape_.depths * WeightsShape::kKinds;
  WeightsTiles tiles;
  tiles.inputs = carver.Take<float>(cut.all_inputs_floats());
  tiles.outputs = carver.Take<float>(cut.output_blocks_kept() * cut.output_panels() * cut.outputs_floats());
  tiles.products = carver.Take<float>(cut.all_products_floats());
  tiles.runs = carver.Take<kernels::GatherRun>(lists * cut.most_runs());
  tiles.sums = carver.Take<TileSum>(lists * cut.most_sums());
  tiles.sum_counts = carver.Take<int64_t>(lists);
  tiles.listed = carver.Take<int64_t>(1);
  if (bytes != nullptr) *bytes = carver.used();
  return tiles;
}

WeightsScratch WeightsStep::ScratchAt(const WeightsCut& cut, char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  WeightsScratch scratch{};
  int64_t input = 1, output = 1, tiles = 1;  // pixels of a slice, and its tiles
  for (int axis = shape_.in_depth() ? 0 : 1; axis < 3; ++axis) {
    const int64_t pixels = cut.bands.extent()[axis] * shape_.tile[axis];
    input *= shape_.Reach(axis, pixels);
    output *= pixels;
    tiles *= cut.bands.extent()[axis];
  }
  scratch.slab = carver.Take<float>(std::max((input + 1) * cut.inputs_panel, (output + 1) * cut.row_lanes()));
  scratch.lines.lines = carver.Take<float>(packing::kLines * (packing::kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(packing::kLine);
  scratch.input_offsets = carver.Take<int64_t>(shape_.parts() * tiles * shape_.points());
  scratch.output_offsets = carver.Take<int64_t>(tiles * shape_.tile_pixels());
  scratch.listed = carver.Take<PieceLists>(1);
  scratch.taps = carver.Take<float>((kStoreRows * shape_.all_taps() + 1) * cut.row_lanes());
  if (in_parts()) {
    const auto panels = [](int64_t channels) { return kPartsBlocks * channels / kernels::kSplitSide; };
    scratch.parts.rows = carver.Take<float>(panels(cut.block_inputs()) * kPartPanel);
    scratch.parts.lanes = carver.Take<float>(panels(cut.output_panels() * cut.row_lanes()) * kPartPanel);
    scratch.parts.lines = carver.Take<float>(kernels::kSplitTerms * std::max(cut.inputs_panel, cut.row_lanes()));
  }
  if (cut.apart) {
    int64_t tiles_bytes = 0;
    TilesAt(cut, nullptr, &tiles_bytes);
    scratch.tiles = TilesAt(cut, carver.Take<char>(tiles_bytes), nullptr);
    if (cut.segments == 1 && cut.deep()) scratch.sums = carver.Take<float>(cut.sums_floats());
  }
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string WeightsStep::Describe() const {
  const Extent3& band = cut_.bands.extent();
  return "chunks of " + std::to_string(cut_.chunk_tiles()) + " tiles in bands of " + std::to_string(band[0]) + "x" +
         std::to_string(band[1]) + "x" + std::to_string(band[2]) + ", blocks of " + std::to_string(cut_.input_panels) +
         "x" + std::to_string(cut_.inputs_panel) + " input by " + std::to_string(cut_.output_panels()) + "x" +
         std::to_string(cut_.lanes.panel_lanes()) + " output channels" +
         (cut_.apart         ? ", " + std::to_string(cut_.segments) + " segments"
          : cut_.by_panels() ? ", together by output panels"
                             : ", together by points") +
         (in_parts() ? ", " + std::to_string(kParts) + " parts a number" : "");
}

}  // namespace canopy::conv::winograd
