// SPDX-License-Identifier: Apache-2.0
// Backward depthwise convolutions with channels as lanes, in one pass: as many channels as a vector has lanes are
// turned into small sheets of vectors, one a pixel, and what a kernel loads of the output's gradient is multiplied by
// vectors of weights for the input's gradient and by the input for the weights'. No vector has idle lanes however small
// planes are, strides only pick positions, and channels-last tensors are read and written where they stand.
#ifndef CANOPY_CONV_DEPTH_LANES_STEP_H_
#define CANOPY_CONV_DEPTH_LANES_STEP_H_

#include <string>
#include <vector>

#include "conv/algorithm.h"
#include "conv/sheets/joint_memory.h"
#include "conv/sheets/lane_blocks.h"
#include "conv/sheets/passes.h"

namespace canopy::conv::depth_lanes {

class DepthStep : public Step {
 public:
  // For one or more of kBackwardData, kBackwardWeights and kBiasFromOutput.
  DepthStep(const ConvProblem& problem, uint8_t computations, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class DepthRun;

  bool data() const { return (computations_ & kBackwardData) != 0; }
  bool weights() const { return (computations_ & kBackwardWeights) != 0; }
  bool bias() const { return (computations_ & kBiasFromOutput) != 0; }
  int results() const { return (data() ? 1 : 0) + (weights() ? 1 : 0); }
  // Whether tensors come from memory, all of them with channels side by side, and results lie in whole lines.
  bool IsFar(const ConvProblem& problem) const;
  // Whether a block's planes, one sheet each, follow one another in all tensors, which the caches of a core do not
  // hold.
  bool AsksForPlanes(const ConvProblem& problem) const;
  void Cut(const ConvProblem& problem);
  void ShareOut(const ConvProblem& problem);
  void BookWorkspace(const Geometry& geometry, plan::WorkspaceLedger* ledger);
  double CountWork(const ConvProblem& problem) const;

  uint8_t computations_;
  sheets::Reach rows_, columns_;
  std::vector<sheets::Pass> passes_;
  int64_t lanes_ = 1;
  sheets::LaneLayout layout_;
  bool gaps_ = false;             // no kernel offset reaches some residue
  bool far_ = false;              // tensors come from memory; kernels are made for that if results begin with a line
  bool asks_ = false;             // for the planes that come next
  int64_t row_pitch_ = 0;         // of the output's sheet, in floats
  int64_t front_ = 0;             // floats of zeros before its first row
  int64_t band_ = 0, bands_ = 1;  // rows of positions that a sheet serves
  int64_t output_floats_ = 0, input_floats_ = 0;
  std::vector<int64_t> output_places_, input_places_;  // of pixels in sheets
  int64_t items_ = 0, segments_ = 1;                   // sheets of a block, and the sums that they are shared out to
  int64_t chunk_ = 1, chunks_ = 0;                     // blocks that are served in turn
  int64_t sums_floats_ = 0;                            // of a block
  sheets::JointWorkspace workspace_;
  double work_ = 0;
};

}  // namespace canopy::conv::depth_lanes

#endif  // CANOPY_CONV_DEPTH_LANES_STEP_H_
