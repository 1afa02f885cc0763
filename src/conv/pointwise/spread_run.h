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
  // begin at `results`, a channel's lie held_lanes behind the one before. `line` has room for a row of the input.
  void Store(const Range& channels, const Range& pixels, const float* results, float* line) const;

 private:
  // Rows of a bundle's results, one behind the other from `from` on, and where they belong: the first at `offset`, the
  // next ones row_step() behind it, each with the zeros up to `length`.
  struct Rows {
    const float* from;
    int64_t columns, count, offset, length;
    int64_t behind;  // elements from `offset` to the end of that row of the input
  };

  void StoreBundle(const Unfolded::Bundle& bundle, const Range& pixels, const float* from, float* line) const;
  void StoreRows(const Rows& rows, int64_t channel, float* line) const;
  void StoreByLines(const Rows& row, int64_t channel, float* line) const;
  void Spread(const Rows& rows, int64_t length, int64_t ahead, bool streamed, float* to) const;

  const DataStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  const LineWriter& result_;
};

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_SPREAD_RUN_H_
