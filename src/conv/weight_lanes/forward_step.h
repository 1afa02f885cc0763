// SPDX-License-Identifier: Apache-2.0
// Forward, where the columns (input channel, tap) of the weight matrix are the terms:
//   result[output channel][pixel] = sum over columns of weight[output channel][column] * columns[column][pixel].
// The pixels of all images are the lanes, and each weight is read once, where it stands. The columns, which are few
// beside the weights, are made of the input before. Of a handful of pixels the results are dot products along columns.
// The gradient of a transposed convolution's input is such a product.
#ifndef CANOPY_CONV_WEIGHT_LANES_FORWARD_STEP_H_
#define CANOPY_CONV_WEIGHT_LANES_FORWARD_STEP_H_

#include <string>

#include "conv/algorithm.h"
#include "conv/packing/common_numbers.h"
#include "conv/packing/lane_panels.h"
#include "conv/weight_lanes/slab.h"

namespace canopy::conv::weight_lanes {

// One thread's working memory.
struct ForwardScratch {
  float* sums;  // [output channel of the block][lane]
  float* slab;  // a channel of all images
  float* rows;  // [output channel of the block][term of the chunk]: weights, unless they are read where they stand
};

class ForwardStep : public Step {
 public:
  ForwardStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class ForwardRun;

  static constexpr int64_t kMostDotsLanes = 64;

  double Estimate(const ConvProblem& problem) const;
  int64_t terms() const { return input_channels_ * taps_; }
  int64_t lanes() const { return panels_.block_lanes(); }
  int64_t GroupFloats() const { return terms() * lanes(); }  // of columns
  int64_t copied_stride() const { return chunk_ + 16; }      // rows of which do not crowd a set of the cache
  ForwardScratch ScratchAt(char* at, int64_t* bytes) const;

  int64_t input_channels_ = 0, output_channels_ = 0, taps_ = 0;  // of a group
  int64_t batch_ = 0, pixels_ = 0;                               // of all images
  packing::LanePanels panels_;                                   // of pixels, one block
  int64_t chunk_ = 1;                                            // terms of a call
  int64_t block_ = 1, blocks_ = 0;                               // output channels of a job; jobs of a group
  bool dots_ = false;                                            // results are dot products along columns
  int64_t rows_ = 1;                                             // of a call at most
  Slab slab_;
  double work_ = 0;
  packing::CommonNumbers columns_;  // [group][panel][column][lane of the panel] or [group][pixel][column]
  int scratch_handle_ = -1;
};

}  // namespace canopy::conv::weight_lanes

#endif  // CANOPY_CONV_WEIGHT_LANES_FORWARD_STEP_H_
