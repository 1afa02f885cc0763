// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions over plain planes: forward and backward data without stride. A plane is copied into a sheet,
// bands of it where it is large, and a stencil runs over vectors of neighbouring pixels with every weight a factor for
// all of them. Its results go straight to their tensor, or by way of strips of rows where they are converted.
#ifndef CANOPY_CONV_PLANES_DATA_STEP_H_
#define CANOPY_CONV_PLANES_DATA_STEP_H_

#include <string>
#include <vector>

#include "conv/algorithm.h"
#include "conv/depthwise/axis_law.h"
#include "conv/sheets/sheet.h"

namespace canopy::conv::planes {

// One axis of results and what they read: one law, unless there is a stride.
struct DataAxis {
  DataAxis() = default;
  DataAxis(const Geometry& geometry, Computation computation, int axis);

  int64_t results() const { return law.results.count; }
  int64_t taps() const { return law.taps.count; }
  // Before the source's first position, in those that the first result reads.
  int64_t before() const { return law.shift < 0 ? -law.shift : 0; }

  depthwise::AxisLaw law;
  size_t laws = 0;
};

// How a stencil's rows are cut, and what it asks memory for on the way.
struct StencilCut {
  int64_t results = 0;
  int rows = 1;       // of a kernel; those left over have another
  int64_t parts = 1;  // of the taps
  int64_t ahead_lines = 0, read_step = 0, write_step = 0;
};

class DataStep : public Step {
 public:
  DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class DataRun;

  void Cut(const Geometry& geometry);
  double CountWork(const ConvProblem& problem) const;

  StencilCut CutOf(int64_t results) const;

  bool forward_;
  DataAxis rows_, columns_;
  int64_t depths_ = 0;
  int64_t source_row_bytes_ = 0, result_row_bytes_ = 0;
  int64_t lanes_ = 1;
  sheets::Fold fold_;
  int64_t image_blocks_ = 0;
  int64_t channel_block_ = 1, channel_blocks_ = 0;
  int64_t vectors_ = 0;                     // of a row of results
  int64_t band_ = 0;                        // rows of results that a sheet serves
  int64_t sheet_rows_ = 0, sheet_row_ = 0;  // and floats from row to row
  int64_t strip_ = 0;                       // rows of results that are stored together where the kernels do not
  int64_t left_ = 0;                        // columns before a sheet's first, so that the source's are aligned
  int64_t sheet_floats_ = 0, result_row_ = 0, result_floats_ = 0, line_floats_ = 0, thread_floats_ = 0;
  int packed_handle_ = -1, scratch_handle_ = -1;
  StencilCut band_cut_, strip_cut_;
  double work_ = 0;
};

}  // namespace canopy::conv::planes

#endif  // CANOPY_CONV_PLANES_DATA_STEP_H_
