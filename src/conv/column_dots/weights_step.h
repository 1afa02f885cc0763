// SPDX-License-Identifier: Apache-2.0
// Backward weights as dot products along pixels:
//   result[output channel][column] = sum over output pixels of output[output channel][pixel] * columns[column][pixel]
// where a column is an input channel and a tap. Of a piece of the output's pixels all columns are written out, each a
// line of the input's elements, or zeros, under those pixels. Output is read where it stands, a few channels at a time,
// while memory is asked for the next. Lanes are pixels: so vectors are full however few the columns are, and their
// lanes are added up at the end. The bias gradient is one more column, of ones, or, where output is rounded, the sums
// of what was just read.
#ifndef CANOPY_CONV_COLUMN_DOTS_WEIGHTS_STEP_H_
#define CANOPY_CONV_COLUMN_DOTS_WEIGHTS_STEP_H_

#include <string>

#include "conv/algorithm.h"
#include "conv/packing/planes.h"
#include "kernels/lines/contract.h"

namespace canopy::conv::column_dots {

// One thread's working memory.
struct WeightsScratch {
  float* columns;  // [column][pixel of a piece], whole vectors
  float* rows;     // [output channel of a tile][pixel of a piece], where output cannot be read in place
  float* sums;     // [output channel][column] vectors of lanes
  float* biases;   // [output channel], where they are summed apart
  kernels::Segment* segments;
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

  void Cut(const Geometry& geometry);
  double CountWork(const ConvProblem& problem) const;

  int64_t columns() const { return taps_ + (bias_ && !sums_ ? 1 : 0); }  // that are multiplied
  int64_t results() const { return taps_ + (bias_ ? 1 : 0); }            // of an output channel
  int64_t jobs(int64_t groups) const { return groups * output_blocks_; }
  WeightsScratch ScratchAt(char* at, int64_t* bytes) const;

  bool bias_;          // its gradient too
  bool sums_ = false;  // that is summed apart
  bool zeros_ = false;
  int64_t lanes_ = 1;
  int64_t inputs_ = 0, outputs_ = 0, taps_ = 0;  // channels of a group; columns without the bias's
  packing::Pieces pieces_;
  int64_t line_floats_ = 0;  // of a piece, whole vectors
  int64_t rows_ = 1;         // output channels of a tile
  int64_t output_block_ = 1, output_blocks_ = 0;
  int64_t segments_ = 1;
  int scratch_handle_ = -1, partial_handle_ = -1, flag_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::column_dots

#endif  // CANOPY_CONV_COLUMN_DOTS_WEIGHTS_STEP_H_
