// SPDX-License-Identifier: Apache-2.0
// Brings results to an input that they do not fill: rows, each from the results of a bundle of channels, and behind
// each the zeros that nothing reaches.
#ifndef CANOPY_CONV_POINTWISE_SPREAD_RUN_H_
#define CANOPY_CONV_POINTWISE_SPREAD_RUN_H_

#include "conv/pointwise/data_step.h"
#include "conv/tensor_lines.h"

namespace canopy::conv::pointwise {

class SpreadRun {
 public:
  SpreadRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, const LineWriter& result)
      : s_(step), p_(problem), b_(buffers), result_(result) {}

  // Pixels, counted through all images, of result channels, counted through all groups. The first channel's results
  // begin at `results`, a channel's lie piece_lanes behind the one before. `line` has room for a row of the input.
  void Store(const Range& channels, const Range& pixels, const float* results, float* line) const;

 private:
  struct Stretch {
    const float* from;
    int64_t columns, offset, length;
    int64_t row;  // elements up to the end of its first row
  };

  void Spread(const float* from, int64_t columns, int64_t length, bool streamed, float* to) const;
  void StoreRows(const Stretch& stretch, int64_t channel, float* line) const;

  const DataStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  const LineWriter& result_;
};

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_SPREAD_RUN_H_
