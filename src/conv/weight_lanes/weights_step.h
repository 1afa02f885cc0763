// SPDX-License-Identifier: Apache-2.0
// Backward weights with weights as the lanes:
//   result[output channel][input channel, tap] = sum over output pixels of
//       output[output channel][pixel] * columns[pixel][input channel, tap]
// A job makes the columns of a block of input channels, for all pixels at once, from small padded copies of their
// images, and every result is written once, where it belongs. With BF16 dot products a term of the sum is a pair of
// neighbouring pixels of an image; 0 completes the last.
#ifndef CANOPY_CONV_WEIGHT_LANES_WEIGHTS_STEP_H_
#define CANOPY_CONV_WEIGHT_LANES_WEIGHTS_STEP_H_

#include <string>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "conv/weight_lanes/blocks.h"
#include "conv/weight_lanes/shifts.h"
#include "conv/weight_lanes/slab.h"

namespace canopy::conv::weight_lanes {

// One thread's working memory.
struct WeightsScratch {
  float* slab;     // [input channel][padded position]
  float* columns;  // [image, term][lane]
  float* tile;     // [output channel][lane]: results that cannot be written in place
  int64_t* run_offsets;
  kernels::GatherRun* runs;
};

class WeightsStep : public Step {
 public:
  WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class WeightsRun;

  double Estimate(const ConvProblem& problem) const;
  int64_t terms() const { return dot_rate_ > 0 ? base::CeilDiv(pixels_, int64_t{2}) : pixels_; }  // of an image
  WeightsScratch ScratchAt(char* at, int64_t* bytes) const;

  Slab slab_;
  double dot_rate_ = 0;   // 0: FP32 multiply-adds
  bool whole_ = false;    // the columns of an image are its input
  bool zeros_ = false;    // are multiplied
  bool streams_ = false;  // results are written past the caches where they are whole lines
  int64_t batch_ = 0, pixels_ = 0, taps_ = 1;
  int64_t output_channels_ = 0;         // of a group
  int64_t run_ = 1, channel_runs_ = 1;  // taps side by side, and how many such there are of a channel
  Blocks blocks_;
  int scratch_handle_ = -1, output_handle_ = -1, flag_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::weight_lanes

#endif  // CANOPY_CONV_WEIGHT_LANES_WEIGHTS_STEP_H_
