// SPDX-License-Identifier: Apache-2.0
// Backward weights of kernels with offsets along one axis or two, F(2, 5) to F(5, 2) along each: the gradient of the
// output is cut into tiles of 5 to 2 an axis, each under a tile of 6 of the input. With the tiles transformed to 6
// points an axis,
//   products[point][input channel][output channel] = sum over tiles of inputs[point][tile][input channel] *
//                                                    outputs[point][tile][output channel],
// and a transform back gives the taps, for each depth and part of the kernel (weights_shape.h). A chunk of tiles is
// transformed for a block of input by a block of output channels, then multiplied, then the next chunk is added.
// Products are multiply-adds, or numbers in parts by a matrix unit (weights_parts.h). Bias gradients are sums of what
// the tiles of the output are made of.
//
// Where there are blocks and chunks enough, each thread takes a block and a segment of the chunks and works apart, and
// segments, whose number depends on the problem only, are added in order. Else all threads work on one block together,
// so that what is transformed serves several blocks.
#ifndef CANOPY_CONV_WINOGRAD_WEIGHTS_STEP_H_
#define CANOPY_CONV_WINOGRAD_WEIGHTS_STEP_H_

#include <algorithm>
#include <array>
#include <string>

#include "conv/algorithm.h"
#include "conv/channel_lanes/weights_step.h"
#include "conv/packing/lane_panels.h"
#include "conv/packing/slab.h"
#include "conv/winograd/products.h"
#include "conv/winograd/tile_bands.h"
#include "conv/winograd/weights_parts.h"
#include "conv/winograd/weights_shape.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::winograd {

inline constexpr int64_t kStoreRows = 16;  // input channels that are stored at a time
// Sums in three levels: over at most this many tiles in registers, then over such sums, then over results.
inline constexpr int64_t kTilesASum = 64, kTilesATurn = 1024;
inline constexpr int64_t kTilesAProduct = 3;  // as costly to read from another thread as one product is
inline constexpr int64_t kFewTiles = 8;       // of a slice of an image: with more, runs are long in any order

// Runs [first, first + count) of pairs of tiles, so many in all, whose products are added in registers.
struct TileSum {
  int64_t first, count, terms;
};

// The tiles of a slice of a band, by their kinds, which follow one another.
struct KindTiles {
  Extent3 first, count;  // of the slice's
  int64_t slot;          // of the first, where they are stored
  int64_t tiles() const { return count[0] * count[1] * count[2]; }
};
using TileKinds = std::array<KindTiles, WeightsShape::kKinds>;

// Of one chunk and block.
struct WeightsTiles {
  float* inputs;             // [part][panel][point][tile][channel of the panel]
  float* outputs;            // [panel][point][tile][channel of the panel]
  float* products;           // [kernel depth][part][input panel][output panel][point][input channel][output channel]
  kernels::GatherRun* runs;  // [kernel depth][kinds left out][run]: which tiles meet
  TileSum* sums;             // [kernel depth][kinds left out][sum]
  int64_t* sum_counts;       // [kernel depth][kinds left out]
  int64_t* listed;           // for which chunk these lists are
};

// For which pieces the lists of offsets in a thread's working memory are.
struct PieceLists {
  std::array<int64_t, 12> inputs, outputs;
};

// One thread's working memory.
struct WeightsScratch {
  float* slab;  // of a slice of a band, and a pixel of zeros behind it
  packing::SlabScratch lines;
  int64_t *input_offsets, *output_offsets;  // [part][tile][pixel] and [tile][pixel] in the slab
  PieceLists* listed;
  float* taps;  // [kStoreRows][tap][lanes of a panel], and a line that nobody reads
  PartsScratch parts;
  // Where threads work apart.
  WeightsTiles tiles;
  float* sums;  // [input panel][output panel][input channel][tap][output channel]
};

// Rows of a chunk's tiles: a tile's, and from it to the next of its band.
struct TileRows {
  int64_t first, step;
};

// How the work is cut, and what that costs.
struct WeightsCut {
  WeightsShape shape;
  TileBands bands;
  int64_t band_inputs = 1, band_outputs = 1;  // tiles of a whole band, those of inputs of all depths that it meets
  packing::LanePanels lanes;                  // output channels
  int64_t inputs_panel = 16;                  // input channels side by side
  int64_t input_panels = 1;                   // of a block
  int64_t chunk_bands = 1, chunks = 0;
  bool all_outputs = false;  // of a group stay transformed, not a block's only
  bool apart = false;        // each thread works on a block and segment of its own; else all on one after another
  int64_t segments = 1, segment_chunks = 1;  // added in order
  double work = 0;

  int64_t block_inputs() const { return inputs_panel * input_panels; }
  int64_t output_panels() const { return lanes.block_lanes() / lanes.panel_lanes(); }  // of a block
  int64_t output_blocks_kept() const { return all_outputs ? lanes.blocks() : 1; }
  int64_t row_lanes() const { return base::RoundUp(lanes.panel_lanes(), kernels::kWinogradLanes); }
  int64_t chunk_tiles() const { return chunk_bands * band_outputs; }
  // Whether the bands of a chunk lie in one another, tile by tile: what a product sums of images of few tiles would
  // else be many runs of a tile or two, each of which costs as much as a term.
  bool interlaced() const {
    const Extent3& extent = bands.extent();
    return bands.are_images() && extent[1] * extent[2] <= kFewTiles;
  }
  // Of tile `tile` of band `place` of a chunk of so many bands.
  TileRows RowsAt(int64_t place, int64_t tile, int64_t band_tiles, int64_t all_bands) const {
    if (interlaced()) return {tile * all_bands + place, all_bands};
    return {place * band_tiles + tile, 1};
  }
  // Chunks whose products are added up before they are transformed back.
  int64_t turn_chunks() const { return std::max<int64_t>(1, kTilesATurn / chunk_tiles()); }
  bool deep() const { return segment_chunks > turn_chunks(); }
  int64_t most_sums() const { return base::CeilDiv(chunk_tiles(), kTilesASum); }  // of a chunk and kernel depth
  // Some kinds of the tiles of a slice are two runs.
  int64_t most_runs() const { return 2 * chunk_bands * bands.extent()[0] + most_sums(); }
  // Odd numbers of rows from point to point, so that the points of a tile do not share sets of a cache.
  int64_t input_rows() const { return (chunk_bands * band_inputs) | 1; }
  int64_t output_rows() const { return chunk_tiles() | 1; }
  int64_t inputs_floats() const { return shape.points() * input_rows() * inputs_panel; }  // of one panel
  int64_t outputs_floats() const { return shape.points() * output_rows() * row_lanes(); }
  int64_t product_step() const { return (inputs_panel + 1) * row_lanes(); }    // from point to point
  int64_t products_floats() const { return shape.points() * product_step(); }  // of a pair of panels
  int64_t outputs_at(int64_t lane_block, int64_t panel) const {
    return ((all_outputs ? lane_block : 0) * output_panels() + panel) * outputs_floats();
  }
  int64_t all_inputs_floats() const { return shape.parts() * input_panels * inputs_floats(); }  // of a block
  int64_t all_products_floats() const { return shape.products() * block_products() * products_floats(); }
  int64_t block_products() const { return input_panels * output_panels(); }  // of a kernel depth and part
  // How threads that work together share the products: by output panels, so that each transforms back what it has
  // multiplied, where there are few tiles for the products; else by points, so that each reads few of the tiles.
  bool by_panels() const {
    const int64_t tiles = all_inputs_floats() + output_panels() * outputs_floats();
    return all_products_floats() > std::min(chunks, turn_chunks()) * tiles / kTilesAProduct;
  }
  int64_t taps_floats() const { return inputs_panel * shape.all_taps() * row_lanes(); }
  int64_t sums_floats() const { return block_products() * taps_floats(); }  // of a block
};

class WeightsStep : public Step {
 public:
  // Weight gradients, or these and bias gradients.
  WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger,
              Products products = Products::kMultiplyAdds);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return cut_.work + bias_work_; }

 private:
  friend class WeightsLister;
  friend class WeightsRun;
  friend class WeightsPieces;

  // Depths [begin, begin + count) of a tensor, each of a band's tiles; where the depth is transformed, one for all.
  struct Slices {
    int64_t begin, count;
  };

  // Bytes of the workspace; `scratch` of each thread.
  struct Room {
    int64_t shared = 0, sums = 0, biases = 0, scratch = 0;
  };

  Slices InputSlices(const TileBand& band) const;
  Slices OutputSlices(const TileBand& band) const;
  // Slices of a whole band.
  int64_t InputSlots(const WeightsCut& cut) const {
    return shape_.in_depth() ? 1 : shape_.InputDepths(cut.bands.extent()[0]);
  }
  int64_t OutputSlots(const WeightsCut& cut) const { return shape_.in_depth() ? 1 : cut.bands.extent()[0]; }
  int64_t BiasSlots(const WeightsCut& cut) const { return cut.bands.count() * OutputSlots(cut); }
  TileKinds KindsOf(const TileBand& band) const;  // of a slice

  // weights_cut.cc
  void ChooseCut(const ConvProblem& problem);
  void ChooseChannels(WeightsCut cut, int64_t room, int64_t* over);
  TileBands ChooseBands(int64_t most_tiles, int64_t most_depths) const;
  WeightsCut CutTiles(int64_t most_tiles, int64_t most_depths) const;
  void CutChannels(int64_t inputs, int64_t outputs, WeightsCut* cut) const;
  void CutSegments(WeightsCut* cut) const;
  double WorkOf(const WeightsCut& cut) const;
  double ProductWork(const WeightsCut& cut) const;
  double ProductWorkInParts(const WeightsCut& cut) const;
  double PairsOfTiles() const;
  double TransformWork(const WeightsCut& cut) const;

  Room RoomOf(const WeightsCut& cut) const;
  int64_t InputBlocks(const WeightsCut& cut) const { return base::CeilDiv(input_channels_, cut.block_inputs()); }
  int64_t Blocks(const WeightsCut& cut) const { return g_.groups * InputBlocks(cut) * cut.lanes.blocks(); }
  WeightsTiles TilesAt(const WeightsCut& cut, char* at, int64_t* bytes) const;
  WeightsScratch ScratchAt(const WeightsCut& cut, char* at, int64_t* bytes) const;

  bool in_parts() const { return products_ == Products::kInParts; }

  Geometry g_;
  bool bias_;  // that of the output is served too
  double bias_work_ = 0;
  Products products_;
  WeightsShape shape_;
  int64_t input_channels_ = 0, output_channels_ = 0;  // of a group
  Extent3 grid_{};                                    // tiles of an image
  WeightsCut cut_;
  int shared_handle_ = -1, sums_handle_ = -1, biases_handle_ = -1, losses_handle_ = -1, scratch_handle_ = -1;
  channel_lanes::WeightsStep direct_;  // where a result is not finite
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_WEIGHTS_STEP_H_
