// SPDX-License-Identifier: Apache-2.0
// Backward weights by way of the columns (input channel, tap) of the weight matrix:
//   result[output channel][column] = sum over output pixels of output[output channel][pixel] * columns[pixel][column]
// Columns are the lanes, and lie in the result as they do in vectors. Of the input a small padded slab is made, and of
// that, piece by piece, the pixels' columns: rows of taps, copied side by side. Output is read where it stands, and the
// next piece of it is asked for meanwhile. The bias gradient is one more column, of ones, or, where output is rounded
// or paired, the sum of what was just read. With BF16 dot products a term of the sum is a pair of pixels of a row; the
// slab then holds, at each position, its number and the one a stride further on, and 0 completes the last pair of
// output.
#ifndef CANOPY_CONV_COLUMNS_WEIGHTS_STEP_H_
#define CANOPY_CONV_COLUMNS_WEIGHTS_STEP_H_

#include <string>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "conv/packing/lane_panels.h"
#include "conv/packing/strips.h"

namespace canopy::conv::columns {

// One thread's working memory.
struct WeightsScratch {
  float* slab;     // [input channel][depth tap][row][position], padded
  float* line;     // of the input
  float* columns;  // [term][column]
  float* rows;     // [output channel][term] of a few, where output cannot be read in place
  float* tiles;    // [output channel][column], then the sum of each output channel
  float* deep;     // sums of full runs of groups, like tiles
  int64_t* run_offsets;
  int64_t* row_offsets;
  int64_t* result_offsets;
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

  void ChooseBlocks();
  void ChooseSegments(const ConvProblem& problem);
  void CountWork(const ConvProblem& problem);

  int64_t a_term() const { return dot_rate_ > 0 ? 2 : 1; }  // pixels
  int64_t Terms(const packing::Strip& strip) const { return strip.rows * base::CeilDiv(strip.columns, a_term()); }
  int64_t MostTerms() const { return group_strips_ * strips_.rows() * base::CeilDiv(strips_.columns(), a_term()); }
  int64_t rows_at_once() const { return std::min<int64_t>(row_block_, whole_panels_.most_rows()); }
  int64_t block_columns(int64_t runs) const { return runs * run_; }
  bool HasBias(int64_t lane_block) const { return bias_ && lane_block + 1 == lane_blocks_; }
  bool HasOnes(int64_t lane_block) const { return HasBias(lane_block) && !sums_; }
  const packing::LanePanels& panels(int64_t lane_block) const {
    return lane_block + 1 < lane_blocks_ ? whole_panels_ : last_panels_;
  }
  int64_t jobs(int64_t groups) const { return groups * row_blocks_ * lane_blocks_; }
  int64_t products_floats() const { return row_block_ * lane_step_; }
  int64_t tiles_floats() const { return products_floats() + (sums_ ? base::RoundUp(row_block_, int64_t{16}) : 0); }
  WeightsScratch ScratchAt(char* at, int64_t* bytes) const;

  bool bias_;                                                    // its gradient too
  double dot_rate_ = 0;                                          // 0: FP32 multiply-adds
  bool sums_ = false;                                            // the bias gradient is summed apart
  int64_t input_channels_ = 0, output_channels_ = 0, taps_ = 1;  // channels of a group
  bool zeros_ = false;                                           // are multiplied
  int64_t partner_ = 0;                                          // of a position in the slab: so far on
  int64_t run_ = 1, channel_runs_ = 1,
          runs_ = 0;                          // taps side by side, and how many such there are of a channel; of all
  int64_t lane_block_ = 1, lane_blocks_ = 0;  // runs of a job
  packing::LanePanels whole_panels_, last_panels_;  // of a whole block's columns, and of the last's
  int64_t lane_step_ = 1;                           // from pixel to pixel
  int64_t row_block_ = 1, row_blocks_ = 0;          // output channels of a job
  bool crowded_ = false;                            // so many of them crowd a cache set, and are copied
  packing::Strips strips_;
  int64_t slab_rows_ = 0, slab_pitch_ = 0, slab_floats_ = 0;  // input rows under a strip, their positions; all channels
  int64_t group_strips_ = 1, groups_ = 0;                     // strips of one product; products
  int64_t segments_ = 1, segment_groups_ = 0;                 // products of a job
  int scratch_handle_ = -1, partial_handle_ = -1, flag_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::columns

#endif  // CANOPY_CONV_COLUMNS_WEIGHTS_STEP_H_
