// SPDX-License-Identifier: Apache-2.0
// Backward weights of a 1x1 kernel where one tensor has few channels, which would not fill vectors, or planes are
// large: dot products of planes, pixels being the lanes. Both tensors are read where they stand, the larger one once.
#ifndef CANOPY_CONV_POINTWISE_DOT_WEIGHTS_STEP_H_
#define CANOPY_CONV_POINTWISE_DOT_WEIGHTS_STEP_H_

#include <string>

#include "conv/algorithm.h"
#include "conv/packing/planes.h"
#include "kernels/dots/contract.h"

namespace canopy::conv::pointwise {

class DotWeightsStep : public Step {
 public:
  // Whether it computes this problem, of those that the algorithm accepts.
  static bool Serves(const ConvProblem& problem);

  // REQUIRES: Serves(problem).
  DotWeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class DotWeightsRun;

  // One thread's working memory.
  struct Scratch {
    float* sums;       // [block of columns][row][column of the block][lane]
    float* rows;       // [row][lane]: a plane's last pixels and zeros
    float* tails;      // [column][lane]: likewise
    int64_t* offsets;  // of columns
  };
  Scratch ScratchAt(char* at, int64_t* bytes) const;

  bool outputs_are_rows_ = false;
  int64_t rows_ = 0, columns_ = 0;  // channels of a group; rows_ are the few
  int64_t lanes_ = 1;
  int64_t tile_ = 1, block_ = 1;  // rows and columns of a kernel call
  packing::Pieces pieces_;
  int64_t segments_ = 1;          // of pieces
  int64_t parts_ = 1, part_ = 1;  // of columns, and how many a part has; each is a job in every segment
  int scratch_handle_ = -1, partial_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_DOT_WEIGHTS_STEP_H_
