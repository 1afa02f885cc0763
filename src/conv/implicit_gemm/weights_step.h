// SPDX-License-Identifier: Apache-2.0
// Backward weights: for every group, the product
//   result[co][m] = sum over output pixels p of output[co][p] * input[ci of m][p moved by the tap of m],
// m counting (source channel, tap) pairs. Both sides are packed as they are needed. Where there are too few blocks to
// share, the sum over pixels is cut into segments, a number that depends on the problem only, and the segments' partial
// results are added in order.
#ifndef CANOPY_CONV_IMPLICIT_GEMM_WEIGHTS_STEP_H_
#define CANOPY_CONV_IMPLICIT_GEMM_WEIGHTS_STEP_H_

#include <string>

#include "conv/algorithm.h"
#include "conv/grid.h"
#include "conv/implicit_gemm/blocking.h"

namespace canopy::conv::implicit_gemm {

class WeightsStep : public Step {
 public:
  WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class WeightsRun;

  void ChooseSides(const ConvProblem& problem);
  void ChooseSegments(const ConvProblem& problem, plan::WorkspaceLedger* ledger);

  int64_t channels_ = 0, columns_ = 0;  // of a group: output channels; (source channel, tap) pairs
  int64_t pixels_ = 0;                  // batch included
  bool padding_ = false;
  bool channels_are_lanes_ = false;  // else columns are
  bool tap_major_ = false;           // m = tap * source channels + channel; else m = channel * taps + tap
  bool input_channel_lines_ = false, output_channel_lines_ = false;  // packed from lines of channels

  kernels::GemmTile tile_{};
  Blocking blocking_;
  int64_t row_panels_ = 0, lane_panels_ = 0;  // of the whole product
  int64_t row_blocks_ = 0, lane_blocks_ = 0;
  int64_t segments_ = 1, segment_pixels_ = 0;
  int64_t block_floats_ = 0;  // result tiles of a job
  int partial_handle_ = -1, flag_handle_ = -1;
  ScratchLayout scratch_;
  double work_ = 0;
};

}  // namespace canopy::conv::implicit_gemm

#endif  // CANOPY_CONV_IMPLICIT_GEMM_WEIGHTS_STEP_H_
