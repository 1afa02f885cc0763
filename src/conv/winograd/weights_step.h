// SPDX-License-Identifier: Apache-2.0
// Backward weights of 3x3 kernels, F(3x3, 4x4): the gradient of the output is cut into 4x4 tiles, each over a 6x6 tile
// of the input. With the tiles transformed to 36 points each,
//   products[point][input channel][output channel] = sum over tiles of inputs[point][tile][input channel] *
//                                                    outputs[point][tile][output channel],
// and a transform back gives the nine taps. A chunk of tiles is transformed for a block of input by a block of output
// channels, then multiplied, then the next chunk is added.
//
// Where there are blocks and chunks enough, each thread takes a block and a segment of the chunks and works apart, and
// segments, whose number depends on the problem only, are added in order. Else all threads work on one block together,
// so that what is transformed serves several blocks.
#ifndef CANOPY_CONV_WINOGRAD_WEIGHTS_STEP_H_
#define CANOPY_CONV_WINOGRAD_WEIGHTS_STEP_H_

#include <string>

#include "conv/algorithm.h"
#include "conv/channel_lanes/lane_panels.h"
#include "conv/channel_lanes/slab.h"
#include "conv/channel_lanes/weights_step.h"
#include "conv/winograd/sizes.h"
#include "conv/winograd/tile_bands.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::winograd {

inline constexpr int64_t kPoints = kernels::WinogradPoints(2), kTaps = kKernel * kKernel;
inline constexpr int64_t kStoreRows = 16;  // input channels that are stored at a time
// Sums in three levels: over at most this many tiles in registers, then over such sums, then over results.
inline constexpr int64_t kTilesASum = 64, kTilesATurn = 1024;

// Of one chunk and block.
struct WeightsTiles {
  float* inputs;    // [panel][point][tile][channel of the panel]
  float* outputs;   // likewise
  float* products;  // [input panel][output panel][point][input channel][output channel]
};

// One thread's working memory.
struct WeightsScratch {
  float* slab;  // of a band, and a pixel of zeros behind it
  channel_lanes::SlabScratch lines;
  int64_t* offsets;  // of a band's tiles' pixels
  float* taps;       // [kStoreRows][kTaps][lanes of a panel]
  // Where threads work apart.
  WeightsTiles tiles;
  float* sums;  // [input panel][output panel][input channel][tap][output channel]
};

class WeightsStep : public Step {
 public:
  WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return cut_.work; }

 private:
  friend class WeightsRun;

  // How the work is cut, and what that costs.
  struct Cut {
    TileBands bands;
    channel_lanes::LanePanels lanes;  // output channels
    int64_t inputs_panel = 16;        // input channels side by side
    int64_t input_panels = 1;         // of a block
    int64_t chunk_bands = 1, chunks = 0;
    int64_t chunk_tiles = 1;   // of the longest chunk
    bool all_outputs = false;  // of a group stay transformed, not a block's only
    bool apart = false;        // each thread works on a block and segment of its own; else all on one after another
    int64_t segments = 1, segment_chunks = 1;  // added in order
    double work = 0;

    int64_t block_inputs() const { return inputs_panel * input_panels; }
    int64_t output_panels() const { return lanes.block_lanes() / lanes.panel_lanes(); }  // of a block
    int64_t output_blocks_kept() const { return all_outputs ? lanes.blocks() : 1; }
    int64_t row_lanes() const { return base::RoundUp(lanes.panel_lanes(), kernels::kWinogradLanes); }
    // Chunks whose products are added up before they are transformed back.
    int64_t turn_chunks() const { return std::max<int64_t>(1, kTilesATurn / chunk_tiles); }
    // An odd number of rows from point to point, so that the points of a tile do not share sets of a cache.
    int64_t point_rows() const { return chunk_tiles | 1; }
    int64_t inputs_floats() const { return kPoints * point_rows() * inputs_panel; }  // of one panel
    int64_t outputs_floats() const { return kPoints * point_rows() * row_lanes(); }
    int64_t product_step() const { return (inputs_panel + 1) * row_lanes(); }  // from point to point
    int64_t products_floats() const { return kPoints * product_step(); }       // of a pair of panels
    int64_t taps_floats() const { return inputs_panel * kTaps * row_lanes(); }
    int64_t sums_floats() const { return input_panels * output_panels() * taps_floats(); }  // of a block
  };

  // Where things lie in the workspace, in bytes.
  struct Room {
    int64_t shared, sums, flag, scratch, scratch_bytes, total;
  };

  void ChooseCut(const ConvProblem& problem);
  TileBands ChooseBands() const;
  Cut CutTiles(const TileBands& bands, int64_t most_tiles) const;
  void CutChannels(int64_t inputs, int64_t outputs, Cut* cut) const;
  void CutSegments(Cut* cut) const;
  double WorkOf(const Geometry& geometry, const Cut& cut) const;
  Room RoomOf(const Cut& cut, int threads) const;
  bool Deep(const Cut& cut) const { return cut.segment_chunks > cut.turn_chunks(); }
  int64_t InputBlocks(const Cut& cut) const { return base::CeilDiv(input_channels_, cut.block_inputs()); }
  int64_t Blocks(const Cut& cut) const { return groups_ * InputBlocks(cut) * cut.lanes.blocks(); }
  WeightsTiles TilesAt(const Cut& cut, char* at, int64_t* bytes) const;
  WeightsScratch ScratchAt(const Cut& cut, char* at, int64_t* bytes) const;

  int64_t groups_ = 1;
  int64_t input_channels_ = 0, output_channels_ = 0;  // of a group
  int64_t images_ = 0, rows_ = 0, columns_ = 0;       // planes and their tiles
  Cut cut_;
  Room room_{};
  plan::WorkspaceLedger direct_ledger_;
  channel_lanes::WeightsStep direct_;  // where a result is not finite; in the same room
  int room_handle_ = -1;
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_WEIGHTS_STEP_H_
