// SPDX-License-Identifier: Apache-2.0
// Backward weights with taps as the rows of a product:
//   sums[column][output channel] = sum over output pixels of slab[pixel under column] * output[pixel][output channel]
// where a column is an input channel and a tap. Of the input under a strip of output a small padded slab is made, in
// which every column is a shift, so that its factors are read where they stand: rows and positions lie apart by their
// residues of the stride. Output is transposed piece by piece (or copied, where its channels lie side by side), for all
// columns at once, while the product before it asks for it: so memory is hardly waited for. Sums are transposed last.
// The bias gradient is one more column, of ones, or, where output is rounded, of the sums of what is transposed.
#ifndef CANOPY_CONV_TAP_ROWS_WEIGHTS_STEP_H_
#define CANOPY_CONV_TAP_ROWS_WEIGHTS_STEP_H_

#include <string>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "conv/packing/strips.h"
#include "conv/packing/tap_slab.h"
#include "kernels/gather_gemm/contract.h"

namespace canopy::conv::tap_rows {

inline constexpr int64_t kMostOutputs = 128;  // of a job: a piece of them takes 128 KiB

// Of the input under a strip of output pixels.
int64_t SlabFloatsAChannel(const Geometry& geometry);

// The problem that a step is made for and runs: images of one row make strips of several rows.
ConvProblem WithFullStrips(const ConvProblem& problem);

// One thread's working memory.
struct WeightsScratch {
  float* slab;              // then a plane of ones
  float* line;              // of the input
  float* rows;              // [output channel][pixel of a piece], where output is converted
  float* pixels;            // [pixel of a piece][output channel]
  float* tiles;             // [column][output channel]: sums of a few strips
  float* totals;            // likewise, of all
  int64_t* tap_offsets;     // of the columns in the slab
  int64_t* pixel_offsets;   // of the pixels of a piece
  int64_t* result_offsets;  // and in the tiles
  kernels::GatherRun* runs;
};

class WeightsStep : public Step {
 public:
  WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class WeightsRun;

  void Cut(const Geometry& geometry);
  void ChooseBlocks();
  void ChooseSegments(const ConvProblem& problem);
  void CountWork(const ConvProblem& problem);

  int64_t columns() const { return input_block_ * taps_ + (bias_ ? 1 : 0); }  // of a job
  int64_t jobs(int64_t groups) const { return groups * input_blocks_ * output_blocks_; }
  int64_t tile_floats() const { return columns() * lane_step_; }
  int64_t piece_pixels() const { return piece_rows_ * piece_columns_; }
  WeightsScratch ScratchAt(char* at, int64_t* bytes) const;

  bool bias_;          // its gradient too
  bool sums_ = false;  // that is summed apart
  bool transposes_;    // output: its pixels lie side by side, not its channels
  kernels::GatherTilesList tiles_;
  int64_t input_channels_ = 0, output_channels_ = 0, taps_ = 1;  // channels of a group
  packing::Strips strips_;                                       // each has a slab
  int64_t piece_rows_ = 1, piece_columns_ = 1;                   // of a strip: one product's terms
  bool zeros_ = false;                                           // are multiplied
  packing::TapSlab slab_;
  int64_t input_block_ = 1, input_blocks_ = 0, output_block_ = 1, output_blocks_ = 0;  // channels of a job
  int64_t panel_vectors_ = 1;                                                          // of output channels
  int64_t lane_step_ = 1;                                                              // from pixel to pixel
  int64_t segments_ = 1, segment_strips_ = 0;
  int scratch_handle_ = -1, partial_handle_ = -1, flag_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::tap_rows

#endif  // CANOPY_CONV_TAP_ROWS_WEIGHTS_STEP_H_
