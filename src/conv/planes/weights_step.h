// SPDX-License-Identifier: Apache-2.0
// Weight gradients of depthwise convolutions over plain planes. A sum for each kernel offset stays in a register while
// vectors of a whole plane's pixels are multiplied: by the input, whose rows serve several kernel rows at once, and by
// the output gradient, which lies in a sheet with rows of zeros around it. With a stride, the input's rows and columns
// of each residue are a plane of their own with kernel offsets of their own.
#ifndef CANOPY_CONV_PLANES_WEIGHTS_STEP_H_
#define CANOPY_CONV_PLANES_WEIGHTS_STEP_H_

#include <string>
#include <vector>

#include "conv/algorithm.h"
#include "conv/sheets/residues.h"
#include "conv/sheets/sheet.h"

namespace canopy::conv::planes {

inline constexpr int64_t kMostStride = 2;

// Kernel offsets whose sums are in registers together, and the part of the planes where they meet.
struct Pass {
  int64_t row_residue, column_residue;
  int64_t row, rows, column, columns;  // kernel offsets of the residues
  int64_t first_row, end_row;          // of the input's residue
  int64_t first_vector, end_vector;    // of the output gradient
};

class WeightsStep : public Step {
 public:
  WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class WeightsRun;

  void Cut(const Geometry& geometry);
  void ShareOut(const Geometry& geometry);
  void ListPasses(const Geometry& geometry);
  double CountWork(const ConvProblem& problem) const;

  std::vector<sheets::Residue> rows_, columns_;
  std::vector<Pass> passes_;
  int64_t lanes_ = 1;
  sheets::Fold fold_;
  int64_t image_blocks_ = 0, vectors_ = 0;
  int64_t left_ = 0;                          // columns of zeros before the input's
  int64_t input_row_ = 0, input_floats_ = 0;  // of a residue's sheet
  int64_t above_ = 0, below_ = 0;             // rows of zeros around the output gradient's
  int64_t output_row_ = 0, output_floats_ = 0;
  int64_t channel_block_ = 1, channel_blocks_ = 0;
  int64_t items_ = 0, segments_ = 1;  // sheets of a channel, and the sums that they are shared out to
  int64_t sums_floats_ = 0, line_floats_ = 0;
  int partial_handle_ = -1, scratch_handle_ = -1, flag_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::planes

#endif  // CANOPY_CONV_PLANES_WEIGHTS_STEP_H_
