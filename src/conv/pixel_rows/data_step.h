// SPDX-License-Identifier: Apache-2.0
// Backward data where a group has few input channels, straight from the formula:
//   result[channel][row][pixel] = sum over output channels and taps of weight * output[...][row + tap][pixel + tap].
// Lanes are pixels. Some rows of all channels stay in registers while a chunk of the output channels passes: every
// vector of output that is read, in place, serves all rows and channels that it meets under a column of the kernel.
// With a stride the rows and pixels of each phase make such a sum of their own; all phases read the same output, and
// what they sum lies apart until it is stored. A slice is one phase and as many neighbouring row taps of it as a kernel
// takes.
#ifndef CANOPY_CONV_PIXEL_ROWS_DATA_STEP_H_
#define CANOPY_CONV_PIXEL_ROWS_DATA_STEP_H_

#include <string>
#include <vector>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "conv/grid.h"
#include "kernels/row_sums/contract.h"

namespace canopy::conv::pixel_rows {

// Within planes. Taps are counted by the output that they reach: the kernel backwards.
struct Phase {
  AxisPhase rows, columns;

  int64_t row_taps() const { return static_cast<int64_t>(rows.taps.size()); }
  int64_t column_taps() const { return static_cast<int64_t>(columns.taps.size()); }
};

struct Slice {
  const Phase* phase;
  int64_t first_row, rows, columns;   // taps
  int64_t source_row, source_column;  // of the output, that row and pixel 0 of the phase meet under the first of them
  int64_t packed;                     // where its weights begin, [output channel][column][row][channel]
  int64_t results;                    // where the phase's results begin
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

  void ListPhases(const Geometry& geometry);
  void ListSlices(const Geometry& geometry);
  int64_t MostSources(const Geometry& geometry) const;  // of a call
  void CountWork(const ConvProblem& problem);

  int64_t DepthTapFloats() const { return block_ * plane_taps_ * output_channels_; }  // of packed weights
  int64_t BlockFloats() const { return kernel_depth_ * DepthTapFloats(); }
  // Of one phase; of a depth; of a job, [depth][row phase][column phase][channel][row][pixel].
  int64_t PhaseFloats() const { return block_ * rows_ * pitch_; }
  int64_t DepthFloats() const { return stride_rows_ * stride_columns_ * PhaseFloats(); }
  int64_t ResultFloats() const { return depths_ * DepthFloats(); }
  int64_t LineFloats() const { return stride_columns_ > 1 ? stride_columns_ * pitch_ + kernels::kLineSlack : 0; }

  const kernels::RowSumKernels& kernels_;
  int64_t input_channels_ = 0, output_channels_ = 0;  // of a group
  int64_t kernel_depth_ = 1, plane_taps_ = 0;         // within planes those that reach results
  int64_t stride_rows_ = 1, stride_columns_ = 1;      // phases, some perhaps without taps
  int64_t block_ = 1, blocks_ = 0;                    // input channels of a job
  int64_t rows_ = 1, bands_ = 0;                      // of the kernels; of a phase
  int64_t depths_ = 1, depth_blocks_ = 0;             // of a job
  int64_t tiles_ = 0, pitch_ = 0;                     // vectors of a row
  int64_t chunk_ = 1;                                 // output channels of a call
  std::vector<Phase> phases_;
  std::vector<Slice> slices_;
  // Of the output, counted from the row and pixel of a band's first: the first that some slice reads; the rows that
  // they read together.
  int64_t first_row_ = 0, first_column_ = 0, read_rows_ = 0;
  int packed_handle_ = -1, scratch_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::pixel_rows

#endif  // CANOPY_CONV_PIXEL_ROWS_DATA_STEP_H_
