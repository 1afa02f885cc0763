// SPDX-License-Identifier: Apache-2.0
// One or both gradients, and that of the bias: pixels' channels are gathered into rows, pairs multiplied in the order
// of the list, and results scattered. One thread: there is nothing to share out.
#ifndef CANOPY_CONV_FEW_PAIRS_STEP_H_
#define CANOPY_CONV_FEW_PAIRS_STEP_H_

#include <string>
#include <vector>

#include "conv/algorithm.h"
#include "conv/few_pairs/rows.h"
#include "kernels/few_pairs/contract.h"

namespace canopy::conv::few_pairs {

// Rows of floats, and one operand's elements before they are converted.
struct Scratch {
  float *input, *output, *weights, *data, *gradients;
  char* raw;
};

class PairsStep : public Step {
 public:
  PairsStep(const ConvProblem& problem, uint8_t computations, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  bool Computes(Computation one) const { return (computations_ & one) != 0; }
  void ListPairs(const Geometry& g);
  double Estimate() const;
  void Compute(const ConvProblem& problem, const Buffers& buffers, const Scratch& scratch) const;
  Scratch ScratchAt(char* at, int64_t* bytes) const;

  uint8_t computations_;
  int64_t inputs_, outputs_;  // channels
  std::vector<kernels::PixelPair> pairs_;
  std::vector<int32_t> ends_;  // of each tap's
  // By pixel, or by tap and output channel; without any where they are neither read nor written.
  Rows input_, output_, weight_, input_result_, weight_result_;
  double work_ = 0;
  int scratch_handle_ = -1;
};

}  // namespace canopy::conv::few_pairs

#endif  // CANOPY_CONV_FEW_PAIRS_STEP_H_
