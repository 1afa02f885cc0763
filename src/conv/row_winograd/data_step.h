// SPDX-License-Identifier: Apache-2.0
// Forward and backward data where a group has few result channels, by Winograd's method along the height alone. A line
// of tiles is at every point
//   sum over (kernel column, source channel and depth) of weight[...] * window[...][position + shift of the column],
// a product whose vectors are neighbouring positions. Windows are made of rows as they lie in memory and results
// written there: nothing is moved between lanes, so that transforms pay from a few channels on.
#ifndef CANOPY_CONV_ROW_WINOGRAD_DATA_STEP_H_
#define CANOPY_CONV_ROW_WINOGRAD_DATA_STEP_H_

#include <string>

#include "conv/algorithm.h"
#include "conv/pixel_lanes/data_step.h"
#include "conv/row_winograd/lines.h"
#include "kernels/gather_gemm/contract.h"
#include "kernels/row_points/contract.h"

namespace canopy::conv::row_winograd {

// One thread's working memory.
struct DataScratch {
  float* zeros;          // a row
  float* rows;           // converted
  float* windows;        // [point][source of a chunk][position]
  float* results;        // [point][row of the product][position]
  float* kernels;        // of an output channel
  float* tile;           // weights of a kernel row as they are packed
  SegmentRun* segments;  // of a line
  kernels::GatherRun* runs;
  int64_t* result_offsets;
  int64_t* terms;  // of a result channel: its rows of the product, shifted
  kernels::ProductSource* sources;
  int* cleared;  // whether there are zeros where no window is
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

  void Cut(int64_t groups);
  double TileWork(int vectors) const;
  double LineWork() const;
  bool InRegisters(const ConvProblem& problem) const;
  double CountWork(const ConvProblem& problem) const;
  DataScratch ScratchAt(char* at, int64_t* bytes) const;
  // Of a result channel's weights at a point.
  int64_t weights() const { return columns_.count() * sources_; }
  int64_t group_weights() const;  // at a point, rounded up to what is transformed at once

  bool forward_;
  Operand source_, result_;
  Extent3 source_size_{}, result_size_{};
  int64_t source_channels_ = 0, result_channels_ = 0;  // of a group
  int64_t sources_ = 0;                                // channels times kernel depths
  int64_t kernel_offsets_ = 0;
  int taps_ = 0, tile_ = 0;  // rows of a kernel, and of a tile
  AxisShifts depths_, rows_, columns_;
  Lines lines_;
  // Whether every kernel column has a row of the product of its own, and these are shifted when they are added up: so
  // few rows that windows are made in registers, where they are multiplied.
  bool apart_ = false;
  int64_t product_rows_ = 0;
  int64_t chunk_ = 1;  // sources multiplied at a time
  kernels::GatherTilesList tiles_{};
  int vectors_ = 1;            // of a tile of the product
  int64_t window_floats_ = 0;  // from source to source
  int64_t result_floats_ = 0;  // from channel to channel
  int64_t job_lines_ = 1;
  int packed_handle_ = -1, scratch_handle_ = -1, found_handle_ = -1;
  double work_ = 0;
  pixel_lanes::DataStep direct_;  // for what is not finite
};

}  // namespace canopy::conv::row_winograd

#endif  // CANOPY_CONV_ROW_WINOGRAD_DATA_STEP_H_
