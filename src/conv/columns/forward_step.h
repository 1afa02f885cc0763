// SPDX-License-Identifier: Apache-2.0
// Forward by way of the columns (input channel, tap) of the weight matrix:
//   result[output channel][pixel] = sum over columns of weight[output channel][column] * columns[column][pixel].
// Pixels are the lanes, as they lie in the result, where every number is written once. Of the input a small padded slab
// is made, in which positions that lie a stride apart are neighbours, and of that, strip by strip, the columns. The
// gradient of a transposed convolution's input is such a product.
#ifndef CANOPY_CONV_COLUMNS_FORWARD_STEP_H_
#define CANOPY_CONV_COLUMNS_FORWARD_STEP_H_

#include <string>
#include <vector>

#include "conv/algorithm.h"
#include "conv/columns/forward_cut.h"
#include "kernels/gather_gemm/contract.h"

namespace canopy::conv::columns {

// One thread's working memory.
struct ForwardScratch {
  float* slab;
  float* columns;  // [column][pixel]; while weights are packed, a few rows of them
  float* tile;     // [output channel][lane]: results that cannot be written in place
  float* line;
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

  void ListColumns(const Geometry& geometry);
  void CountWork(const ConvProblem& problem);
  int64_t columns() const { return static_cast<int64_t>(offsets_.size()); }
  int64_t lanes() const { return tiles_.tiles[vectors_ - 1].lanes; }
  int64_t most_rows() const { return tiles_.tiles[vectors_ - 1].most_rows; }
  ForwardScratch ScratchAt(char* at, int64_t* bytes) const;

  int64_t input_channels_ = 0, output_channels_ = 0;  // of a group
  kernels::GatherTilesList tiles_;
  int vectors_ = 1;
  ForwardCut cut_;
  std::vector<int64_t> offsets_;  // of each column in the slab, for a strip's first pixel
  int packed_handle_ = -1, scratch_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::columns

#endif  // CANOPY_CONV_COLUMNS_FORWARD_STEP_H_
