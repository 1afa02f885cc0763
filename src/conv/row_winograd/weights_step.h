// SPDX-License-Identifier: Apache-2.0
// Weight gradients where a group has few channels, by Winograd's method along the height alone: a kernel's rows are
// what tiles of output rows, taken for kernels, make of the windows of input rows under them. At every point
//   sum over positions of output[output channel][position] * window[source][position + shift of the kernel column],
// for every output channel, source (an input channel and a kernel depth) and kernel column, is a dot product along
// lines of tiles; the sums of all tiles are transformed back once. Bias gradients, if wanted too, are summed where
// output is read.
#ifndef CANOPY_CONV_ROW_WINOGRAD_WEIGHTS_STEP_H_
#define CANOPY_CONV_ROW_WINOGRAD_WEIGHTS_STEP_H_

#include <algorithm>
#include <string>
#include <vector>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "conv/pixel_lanes/weights_step.h"
#include "conv/row_winograd/lines.h"
#include "kernels/dots/contract.h"

namespace canopy::conv::row_winograd {

// One thread's working memory.
struct WeightsScratch {
  float* zeros;          // a row
  float* rows;           // converted
  float* outputs;        // [point][output channel][position]
  float* windows;        // [point][source][position]
  float* sums;           // [point][output channel][column] vectors
  float* biases;         // [output channel] vectors
  int64_t* offsets;      // of the columns in the windows of a point
  SegmentRun* segments;  // of a line
  int* cleared;          // whether there are zeros where no pixel is
  float* kernels;        // [kernel row][output channel][column]
};

// Sums that are in registers together, and what is asked for meanwhile of the next line's rows, in bytes from its first
// row in the first channel: a part of an output channel's, and of an input channel's.
struct Tile {
  struct Ask {
    int64_t first, step;
  };

  int64_t point, row, column;  // the first output channel of a block; the first column
  kernels::DotsFn dots;
  Ask asks[2];
};

class WeightsStep : public Step {
 public:
  WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class WeightsRun;

  void Cut(const ConvProblem& problem);
  void ListTiles(const ConvProblem& problem, int64_t outputs, std::vector<Tile>* list) const;
  double CountWork(const ConvProblem& problem) const;
  WeightsScratch ScratchAt(char* at, int64_t* bytes) const;
  // Of an output channel at a point: sources and kernel columns.
  int64_t columns() const { return sources_ * columns_.count(); }
  int64_t OutputsOf(int64_t block) const { return std::min(block_, outputs_ - block * block_); }
  int64_t blocks() const { return base::CeilDiv(outputs_, block_); }
  // Sums of a block at a point, rounded up to what is transformed at once, and of all points, with the bias gradients.
  int64_t point_sums() const;
  int64_t block_sums() const;
  const std::vector<Tile>& TilesOf(int64_t block) const { return block + 1 < blocks() ? tiles_ : last_tiles_; }

  bool bias_;
  int64_t sources_ = 0, outputs_ = 0;  // of a group
  int taps_ = 0, tile_ = 0;            // rows of a kernel, and of a tile
  AxisShifts depths_, rows_, columns_;
  Lines lines_;
  int64_t lanes_ = 1;
  int64_t block_ = 1;                     // output channels of a job
  int64_t panel_ = 1;                     // of those that are at the points at a time
  int64_t rows_at_once_ = 1;              // of a dot product's tile, at most
  int64_t output_floats_ = 0;             // from channel to channel
  int64_t window_floats_ = 0;             // from source to source
  std::vector<Tile> tiles_, last_tiles_;  // of a block, and of the last one of a group
  int64_t parts_ = 1;                     // of the lines, each of which has sums of its own
  int partial_handle_ = -1, scratch_handle_ = -1, found_handle_ = -1;
  double work_ = 0;
  pixel_lanes::WeightsStep direct_;  // for what is not finite
};

}  // namespace canopy::conv::row_winograd

#endif  // CANOPY_CONV_ROW_WINOGRAD_WEIGHTS_STEP_H_
