// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions whose kernel is so wide that every pixel of a row reaches every pixel of a result's row, on
// planes no wider than a vector. A row of the kernel under all shifts between the two, one vector each, stays in
// registers while rows of pixels are multiplied by it, pixel by pixel; weight gradients are the diagonals of the rows'
// outer products, one vector of which for each pixel stays in registers. No zero is multiplied.
#ifndef CANOPY_CONV_TOEPLITZ_STEP_H_
#define CANOPY_CONV_TOEPLITZ_STEP_H_

#include <string>

#include "conv/algorithm.h"

namespace canopy::conv::toeplitz {

class ToeplitzStep : public Step {
 public:
  ToeplitzStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class ToeplitzRun;

  double CountWork(const ConvProblem& problem) const;

  Computation computation_;
  int64_t lanes_ = 1;
  int64_t images_ = 1, image_blocks_ = 1;         // whose rows of a channel are multiplied together
  int64_t input_floats_ = 0, output_floats_ = 0;  // of their rows: [row][image][column]
  int64_t weight_floats_ = 0, line_floats_ = 0;
  int scratch_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::toeplitz

#endif  // CANOPY_CONV_TOEPLITZ_STEP_H_
