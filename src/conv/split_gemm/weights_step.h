// SPDX-License-Identifier: Apache-2.0
// Backward weights: rows are output channels, lanes 16 input channels under one tap, and terms the output's pixels,
//   result[co][ci, tap] = sum over pixels of output[co][pixel] * input[ci][pixel moved by tap].
// Where there are few of them, pixels are cut into stretches whose sums are added up in their order. Bias gradients are
// summed while pixels are packed, by the jobs of the first panels of the other channels.
#ifndef CANOPY_CONV_SPLIT_GEMM_WEIGHTS_STEP_H_
#define CANOPY_CONV_SPLIT_GEMM_WEIGHTS_STEP_H_

#include <string>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "conv/channel_lanes/weights_step.h"
#include "conv/split_gemm/blocks.h"

namespace canopy::conv::split_gemm {

inline constexpr int64_t kMostTapsTogether = 27;  // of a panel of input channels, in one job

class WeightsStep : public Step {
 public:
  // Weight gradients, or these and bias gradients.
  WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class WeightsRun;

  void ChooseStretches(int64_t groups);
  double Estimate(const ConvProblem& problem) const;
  double MissedShare() const;
  int64_t RowBlocks() const { return base::CeilDiv(row_panels_, cut_.row_panels); }
  int64_t LaneBlocks() const { return base::CeilDiv(lane_panels_, cut_.lane_panels); }

  int parts_;
  const kernels::SplitKernels& kernels_;
  int64_t rows_ = 0, channels_ = 0, taps_ = 0, pixels_ = 0;  // output and input channels of a group
  int64_t row_panels_ = 0, lane_panels_ = 0;                 // of a group; lanes tap by tap of 16 channels
  Cut cut_;
  int64_t blocks_ = 0;                          // of terms
  int64_t stretches_ = 1, stretch_blocks_ = 0;  // of terms
  double work_ = 0;
  Computation bias_;           // that is served too, or none
  int64_t bias_channels_ = 0;  // of all groups
  int losses_handle_ = -1, sums_handle_ = -1, biases_handle_ = -1;
  ScratchLayout scratch_;
  channel_lanes::WeightsStep direct_;  // for what parts cannot express
};

}  // namespace canopy::conv::split_gemm

#endif  // CANOPY_CONV_SPLIT_GEMM_WEIGHTS_STEP_H_
