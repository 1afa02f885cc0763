// SPDX-License-Identifier: Apache-2.0
// Forward and backward data of a 1x1 kernel: result[channel][pixel] = sum over source channels of
// weight[channel][source channel] * source[source channel][pixel]. Pixels are the lanes, those of small planes in one
// row through all images; neither tensor is transposed, and plain results are written where they belong. Of an unfolded
// input only what something reaches is computed: its pixels are picked apart as they are packed, or put together, with
// zeros between them, as they are stored. With BF16 dot products a term of the sum is a pair of source channels.
#ifndef CANOPY_CONV_POINTWISE_DATA_STEP_H_
#define CANOPY_CONV_POINTWISE_DATA_STEP_H_

#include <algorithm>
#include <string>

#include "conv/algorithm.h"
#include "conv/packing/common_numbers.h"
#include "conv/packing/planes.h"
#include "conv/packing/weight_panels.h"
#include "conv/pointwise/unfolded.h"
#include "kernels/gather_gemm/contract.h"

namespace canopy::conv::pointwise {

// One thread's working memory.
struct DataScratch {
  const float* packed = nullptr;  // weights of all jobs, where they are packed once
  float* weights;                 // [row panel][term][row], else
  float* pixels;                  // [term][pixel]: one panel
  float* results;                 // [result channel][pixel of the piece]: what is not written where it belongs
  float* line;                    // a row of the result, where it is spread
  packing::SlabScratch lines;
  int64_t* weight_offsets;
  int64_t* result_offsets;
};

class DataStep : public Step {
 public:
  DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return cut_.work; }

 private:
  friend class DataRun;
  friend class RowWeights;
  friend class SpreadRun;

  static constexpr int64_t kMostTiles = 4;     // of a panel
  static constexpr int64_t kInPlaceTiles = 4;  // of a plane: from then on many sources' results add up in place

  // How the work is cut, and what that costs.
  struct Cut {
    int64_t block = 1, blocks = 0;  // result channels of a job
    packing::Pieces pieces;         // of planes, or of all images' pixels in one row
    bool packed_once = false;       // weights, for all jobs
    double work = 0;
  };

  bool Streams(const ConvProblem& problem) const;
  Cut MakeCut(const Geometry& geometry, int64_t most_rows) const;
  bool PacksOnce(const Geometry& geometry, const packing::Pieces& pieces) const;
  // Where weights are packed once, so many threads each pack all of them.
  double Estimate(const Geometry& geometry, const Cut& cut, int64_t packers) const;
  void ShareOut(const Geometry& geometry);
  double Time(const Geometry& geometry, const Cut& cut) const;
  int64_t MostPixels(int64_t block) const;
  int64_t WholeRows(const Geometry& geometry) const;
  int64_t PackedFloats(const Geometry& geometry) const;                                // of all weights
  int64_t a_term() const { return dot_rate_ > 0 ? 2 : 1; }                             // source channels
  int64_t CountOf(int64_t c) const { return std::min(chunk_, source_channels_ - c); }  // of a chunk
  int64_t Terms(int64_t channels) const { return base::CeilDiv(channels, a_term()); }
  // Whether tiles over two images are read and written where they stand. Where weights are many and planes large, most
  // tiles are within one image and added up in place.
  bool splits() const {
    return (few_weights_ || !planes_are_large()) && plane_ >= lanes() &&
           tiles_[vectors_ - 1].adjacent_split[1] != nullptr;
  }
  bool planes_are_large() const { return plane_ >= kInPlaceTiles * lanes(); }
  int64_t lanes() const { return tiles_[vectors_ - 1].lanes; }
  int64_t rows() const { return tiles_[vectors_ - 1].most_rows; }
  // Results leave past the caches, panel by panel, and no others are kept.
  bool keeps_no_results() const { return streams_ && !spread_; }
  // Pixels whose results a job keeps, in whole tiles.
  int64_t held_lanes() const { return keeps_no_results() ? panel_ : base::RoundUp(cut_.pieces.pixels, lanes()); }
  DataScratch ScratchAt(char* at, int64_t* bytes) const;

  bool forward_;
  bool direct_;                    // tiles are written where they belong, but those over two images where not split
  bool spread_;                    // results are an unfolded input
  bool spread_seconds_;            // of 2 bytes each, and every second of them 0
  bool streams_ = false;           // results are written past the caches where they are whole lines
  bool picked_;                    // sources are an unfolded input
  double dot_rate_ = 0;            // 0: FP32 multiply-adds
  bool weights_in_place_ = false;  // they are multiplied where they stand
  Unfolded input_;
  Operand source_, result_;
  int64_t source_channels_ = 0, result_channels_ = 0;  // of a group, unfolded
  int64_t plane_ = 0;                                  // source pixels of an image
  bool few_weights_ = false;                           // in all
  int64_t result_row_ = 0;                             // elements of an input row
  packing::WeightView weight_;
  const kernels::GatherTiles* tiles_;  // by vectors, from 1
  int vectors_;
  int64_t chunk_ = 1;  // source channels packed at a time
  int64_t panel_ = 1;  // pixels packed at a time: a few tiles side by side
  Cut cut_;
  packing::CommonNumbers weights_;  // where they are packed for all jobs
  int scratch_handle_ = -1;
};

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_DATA_STEP_H_
