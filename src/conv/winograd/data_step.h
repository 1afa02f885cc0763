// SPDX-License-Identifier: Apache-2.0
// Forward and backward data by Winograd's method: the result is cut into tiles, and
//   result tile[channel] = back(sum over source channels of window(tile)[source] (*) kernel[source][channel])
// where windows of source pixels, kernels and sums are transformed as in kernels/winograd/contract.h and (*) is the
// product at each of the 36 points of a square, or the 6 of a line. So every point is a matrix product of tiles by
// source by result channels. Kernels that reach further are further terms of that product, and results under a stride
// are phases with kernels of their own: see tiling.h.
//
// What is used again is transformed into the workspace first, in pieces that stay in the cache:
// - kernels, where all of them do; a job then transforms the windows of a box of tiles itself and computes all
// channels;
// - windows, where there are few; a job then transforms the kernels of a panel of channels and computes all tiles;
// - both otherwise; a job then computes one panel of one box. Or, where there are panels enough, windows, and a job
// transforms the kernels of a panel and computes it in many boxes: no thread reads another's kernels.
//
// Products are multiply-adds, or numbers in parts by a matrix unit (kernels/split_gemm/contract.h). Kernels are in
// parts already then, in pieces that fit the workspace, of which each job transforms its windows anew. It takes apart
// those of one point at a time, and the point's sums, of all channels of the piece, take the windows' place: so both
// stay near.
//
// Transforms spread whatever is not finite over a tile, padding's zeros meet it, and they overflow before the
// definition does. So when some result is not finite, all of them are computed again by the definition's own products.
#ifndef CANOPY_CONV_WINOGRAD_DATA_STEP_H_
#define CANOPY_CONV_WINOGRAD_DATA_STEP_H_

#include <algorithm>
#include <array>
#include <string>

#include "conv/algorithm.h"
#include "conv/channel_lanes/data_step.h"
#include "conv/packing/boxes.h"
#include "conv/packing/common_numbers.h"
#include "conv/packing/lane_panels.h"
#include "conv/packing/weight_panels.h"
#include "conv/streams.h"
#include "conv/tensor_bytes.h"
#include "conv/winograd/products.h"
#include "conv/winograd/tiling.h"
#include "kernels/winograd/contract.h"

namespace canopy::conv::winograd {

// Whether a tiling is one for such products: numbers in parts have one phase.
inline bool Serves(const Tiling& tiling, Products products) {
  return products == Products::kMultiplyAdds || tiling.phases() == 1;
}

inline constexpr int64_t kSlabChannels = 64;  // source channels of a slab
inline constexpr int64_t kKernelChunk = 32;   // source channels whose kernels a job transforms
inline constexpr int64_t kWindowChunk = 64;   // source channels whose windows a job transforms for all
// Of a box, where the workspace is short, or threads would wait.
inline constexpr int64_t kLeastTiles = 16, kFewTilesOfLines = 64;

// Tiles of a box, in the order of its lists.
struct TileRange {
  int64_t first, count;
};

// For which boxes the lists of offsets in a thread's working memory are.
struct DataLists {
  std::array<TileRange, Tiling::kKinds> tiles_without;  // any bit of a kind
  std::array<int64_t, 11> windows;
  std::array<int64_t, 12> tiles;
};

// One thread's working memory.
struct DataScratch {
  float* slab;     // a line of zeros, then pixels
  float* windows;  // [point][window][source channel]
  float* kernels;  // of one phase: [point][term][source channel of a chunk][result channel of a panel]
  float* sums;     // of one phase: [point][tile][result channel of a panel]
  float* tiles;    // a line that nobody reads, then [position][result channel of a panel]
  float* weights;  // packed kernels before they are transformed, and a tap of zeros
  float* bias;
  packing::SlabScratch lines;
  float* parts;       // of a point's windows: [source channels of a block, and term][panel of tiles]
  int64_t* blocks;    // of kernels, that those meet
  const void** asks;  // kernels::SplitOperands
  int64_t* weight_offsets;
  int64_t* window_offsets;  // [window][its pixel] in the slab
  // Tiles are listed kind by kind, so that those that have numbers at a point follow one another.
  int64_t* tile_offsets;  // [phase][tile][its result]
  int64_t* window_kinds;  // Tiling::kKinds
  int64_t* tile_kinds;
  int64_t *row_offsets, *sum_offsets;  // of a tile's first window, and of its sums
  DataLists* listed;
};

class DataStep : public Step {
 public:
  DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger,
           Products products = Products::kMultiplyAdds);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class DataBoxes;
  friend class DataKernels;
  friend class DataRun;
  friend class DataLister;
  friend class SplitRun;

  // Whether every result is finite, and what parts can express.
  bool RunInParts(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                  void* workspace) const;
  void ChooseTiling(const Geometry& geometry);
  void Place(const Geometry& geometry);
  int64_t MostTiles() const;  // of a box
  int64_t TilesOfALine() const;
  packing::Boxes MakeBoxes(const Geometry& geometry, int64_t most_tiles) const;
  packing::Boxes WholeBox(const Geometry& geometry) const;
  int64_t SharedBytes() const;
  bool FewTiles(const Geometry& geometry, const packing::Boxes& whole) const;
  bool Fits(const Geometry& geometry) const;
  void ChooseCut(const Geometry& geometry);
  void CutBoxes(const Geometry& geometry);
  bool Exceeds(const Geometry& geometry) const;
  void CutForParts(const Geometry& geometry);
  int64_t RoomForParts(int64_t threads) const;
  void TakeUnitsInParts(const Geometry& geometry, int64_t threads);
  void ShareOutInParts(const Geometry& geometry);
  void ShareOut(const Geometry& geometry);
  void TakeOwnBoxes(const Geometry& geometry);
  void TakeLargeBoxes(const Geometry& geometry, int64_t passes);
  double EstimateWork(const Geometry& geometry) const;
  double Efficiency() const;  // of products by multiply-adds
  double WorkInParts(const Geometry& geometry, double tile_products) const;
  double KernelWork() const;  // of a group
  int64_t SlabPixels(const packing::Extent4& box) const;
  DataScratch ScratchAt(char* at, int64_t* bytes) const;
  int64_t ScratchBytes() const {
    int64_t bytes = 0;
    ScratchAt(nullptr, &bytes);
    return bytes;
  }
  // How often windows are transformed.
  int64_t passes(const Geometry& geometry) const {
    return in_parts() ? base::CeilDiv(units(geometry), block_units_) : 1;
  }

  // Windows of a box along an axis, and in all.
  int64_t windows(const packing::Extent4& box, int axis) const { return tiling_.axes[axis].windows(box[axis + 1]); }
  int64_t windows(const packing::Extent4& box) const {
    return box[0] * windows(box, 0) * windows(box, 1) * windows(box, 2);
  }
  // One window of all groups.
  int64_t WindowBytes(const Geometry& geometry) const {
    return geometry.groups * padded_sources_ * tiling_.points() * int64_t{sizeof(float)};
  }
  int64_t kernel_channels() const {
    if (in_parts()) return kKernelChunk;
    return block_units_ > 0 ? source_channels_ : std::min(source_channels_, terms_chunk_);
  }
  // Whether a point's kernel is one that kernels::WinogradProduct() holds in registers.
  bool small() const {
    return !in_parts() && source_channels_ == kernels::kWinogradLanes &&
           panels_.panel_lanes() == kernels::kWinogradLanes && tiling_.terms() == 1 &&
           kernels::WinogradProduct() != nullptr;
  }
  // From pixel to pixel of a slab.
  int64_t slab_channels() const { return std::min(kSlabChannels, padded_sources_); }
  // Distances from point to point, in floats; none is a multiple of 4096 bytes.
  int64_t window_step() const {
    const int64_t floats = windows(boxes_.extent()) * padded_sources_;
    return (in_parts() ? std::max(floats, sum_floats()) : floats) + kernels::kWinogradLanes;
  }
  int64_t sum_step() const { return sum_floats() + kernels::kWinogradLanes; }
  int64_t kernel_step() const {
    return tiling_.terms() * kernel_channels() * panels_.panel_lanes() + kernels::kWinogradLanes;
  }
  // Of kKernelChunk source channels of a panel; and how many such, where a job keeps them for phase after phase.
  int64_t packed_floats() const { return (weight_.taps + 1) * kKernelChunk * panels_.panel_lanes(); }
  int64_t packed_chunks() const {
    return block_units_ == 0 && tiling_.phases() > 1 ? base::CeilDiv(source_channels_, kKernelChunk) : 1;
  }
  int64_t window_floats() const { return tiling_.points() * window_step(); }
  int64_t kernel_floats() const { return tiling_.points() * kernel_step(); }  // of a phase
  int64_t unit_floats() const {
    return in_parts() ? tiling_.points() * part_step() : tiling_.phases() * kernel_floats();
  }

  bool in_parts() const { return products_ == Products::kInParts; }
  // Blocks of terms of a product; the panel's panels of 16 lanes; the kernels of a point.
  int64_t source_blocks() const { return base::CeilDiv(source_channels_, kKernelChunk); }
  int64_t part_blocks() const { return tiling_.terms() * source_blocks(); }
  int64_t part_panels() const { return base::CeilDiv(panels_.panel_lanes(), kernels::kSplitSide); }
  int64_t part_step() const { return part_blocks() * part_panels() * kPartPanel + kernels::kWinogradLanes; }
  int64_t tile_panels() const { return base::CeilDiv(boxes_.positions(), kernels::kSplitSide); }
  // Of a point and all panels at once: in parts these take the place of its windows, and may hang over by a panel of
  // rows.
  int64_t sum_lanes() const {
    if (!in_parts()) return panels_.panel_lanes();
    return std::min(block_units_, panels_.blocks()) * part_panels() * kernels::kSplitSide;
  }
  int64_t sum_floats() const { return (boxes_.positions() + (in_parts() ? kernels::kSplitSide : 0)) * sum_lanes(); }
  int64_t units(const Geometry& geometry) const { return geometry.groups * panels_.blocks(); }
  // Results of the tensor that a box's tiles cover along an axis.
  packing::AxisRange Results(const packing::Box& box, int axis) const;

  bool forward_;
  Products products_;
  Operand source_, result_;
  Extent3 source_size_{}, result_size_{};
  int64_t source_channels_ = 0, result_channels_ = 0;  // of a group
  int64_t padded_sources_ = 0;
  // Source channels of one tile product, a multiple of kKernelChunk. Of the problem alone, and so the order of every
  // sum; no cut changes a bit.
  int64_t terms_chunk_ = 0;
  Extent3 phase_size_{};  // results of a phase; of the first and the last of them some phases have none
  Extent3 missing_{};     // phases that have no first
  Extent3 shift_{};       // of the source coordinate that a phase's first result's first tap meets
  packing::WeightView weight_;
  packing::LanePanels panels_;  // a block is a panel
  Tiling tiling_;
  packing::Boxes boxes_;     // of tiles
  int64_t block_units_ = 1;  // pairs of a group and a panel whose kernels are transformed at once; 0: each job its own
  bool own_units_ = false;   // each thread transforms one for itself, `block_units_` are as many as threads
  int64_t batch_boxes_ = 0;  // boxes whose windows are transformed at once; 0: each job its own
  StreamedRows streamed_ = StreamedRows::kNone;
  bool far_ = false;  // little of the tensors stays in the caches, and windows are short rows of several lines
  double tensor_bytes_ = 0;
  double work_ = 0;
  channel_lanes::DataStep direct_;         // for what is not finite
  packing::CommonNumbers kernels_of_all_;  // where windows are in each job
  int scratch_handle_ = -1, kernels_handle_ = -1, windows_handle_ = -1, found_handle_ = -1;
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_DATA_STEP_H_
