// SPDX-License-Identifier: Apache-2.0
// Backward data where a group has few input channels and no stride, straight from the formula:
//   result[channel][row][pixel] = sum over output channels and taps of weight * output[...][row + tap][pixel + tap].
// Lanes are pixels. Some rows of all channels stay in registers while a chunk of the output channels passes: every
// vector of output that is read, in place, serves all rows and channels that it meets under a column of the kernel.
// A slice is one depth tap and as many neighbouring row taps as a kernel takes.
#ifndef CANOPY_CONV_PIXEL_ROWS_DATA_STEP_H_
#define CANOPY_CONV_PIXEL_ROWS_DATA_STEP_H_

#include <string>
#include <vector>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "kernels/row_sums/contract.h"

namespace canopy::conv::pixel_rows {

// Taps of rows are counted by the output row that they reach: the kernel backwards.
struct Slice {
  int64_t depth;            // tap
  int64_t first_row, rows;  // taps
  int64_t packed;           // offset of its weights in those of a block, [output channel][column][row][channel]
};

class DataStep : public Step {
 public:
  DataStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class DataRun;

  void ListSlices(const Geometry& geometry);
  void CountWork(const ConvProblem& problem);

  int64_t BlockFloats() const { return block_ * taps_ * output_channels_; }  // of packed weights
  int64_t ResultFloats() const { return depths_ * block_ * rows_ * pitch_; }

  const kernels::RowSumKernels& kernels_;
  int64_t input_channels_ = 0, output_channels_ = 0, taps_ = 1;  // channels of a group
  int64_t block_ = 1, blocks_ = 0;                               // input channels of a job
  int64_t rows_ = 1, bands_ = 0;                                 // of the kernels; of an image
  int64_t depths_ = 1, depth_blocks_ = 0;                        // of a job
  int64_t tiles_ = 0, pitch_ = 0;                                // vectors of a row
  int64_t chunk_ = 1;                                            // output channels of a call
  std::vector<Slice> slices_;
  int packed_handle_ = -1, scratch_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::pixel_rows

#endif  // CANOPY_CONV_PIXEL_ROWS_DATA_STEP_H_
