// SPDX-License-Identifier: Apache-2.0
// How a result, its taps and the source that they read meet along one axis. All three computations of a convolution are
// one correlation
//   result[a] = sum over i of tap[i] * source[a * result_step + i * tap_step + shift]
// whose source positions outside [0, source_size) are absent. Forward: results are outputs, taps weights. Backward
// data: results are those inputs that have one residue modulo the stride, taps the weights that reach them. Backward
// weights: results are weights, taps are outputs.
#ifndef CANOPY_CONV_DEPTHWISE_AXIS_LAW_H_
#define CANOPY_CONV_DEPTHWISE_AXIS_LAW_H_

#include <array>
#include <cstdint>
#include <vector>

#include "conv/problem.h"

namespace canopy::conv::depthwise {

struct Range {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

// Where an index lies in its tensor: coordinate = first + index * step, 0 <= index < count.
struct IndexMap {
  int64_t count = 0, first = 0, step = 1;
};

struct AxisLaw {
  IndexMap results, taps;
  int64_t result_step = 1, tap_step = 1, shift = 0, source_size = 0;

  // The taps that meet a source position under result `a`.
  Range ValidTaps(int64_t a) const;
  // Source positions in [0, source_size) between the first and the last that any result and tap meet.
  Range Sources() const;

  // The law for those results (or taps) only whose coordinate lies in `coordinates`, counted from its begin.
  AxisLaw WithResults(Range coordinates) const;
  AxisLaw WithTaps(Range coordinates) const;
  // The law for the source's part `sources`, counted from its begin.
  // REQUIRES: `sources` contains Sources().
  AxisLaw WithSources(Range sources) const;
};

using AxisLaws = std::array<AxisLaw, 3>;

// What one axis contributes: one law, but one a residue for backward data with a stride. `gaps` is set where some
// results have no tap at all; they belong to no law.
std::vector<AxisLaw> LawsOfAxis(const Geometry& geometry, Computation computation, int axis, bool* gaps);

}  // namespace canopy::conv::depthwise

#endif  // CANOPY_CONV_DEPTHWISE_AXIS_LAW_H_
