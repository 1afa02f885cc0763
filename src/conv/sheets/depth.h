// SPDX-License-Identifier: Apache-2.0
// Kernels with a depth: every depth of the kernel is a kernel over planes, between an input plane and an output plane.
#ifndef CANOPY_CONV_SHEETS_DEPTH_H_
#define CANOPY_CONV_SHEETS_DEPTH_H_

#include <cstdint>
#include <vector>

#include "conv/problem.h"
#include "conv/sheets/residues.h"

namespace canopy::conv::sheets {

// Whether an input plane meets other planes than the output's at the same depth.
bool HasDepth(const Geometry& geometry);

// The same problem with depth and height exchanged where that rids it of its depth, for height has no part in its
// kernel; and of fewer and longer rows where width has none either.
ConvProblem DepthAsHeight(const ConvProblem& problem);

// An output plane that an input plane meets.
struct Slice {
  int64_t output = 0;  // plane
  int64_t kernel = 0;  // depth
  bool first = false;  // no input plane before meets that output plane
};

// All that one meets, each an output plane before the last one's and `step` depths of the kernel further.
struct SliceRun {
  int64_t count = 0;
  Slice first;
  int64_t step = 1;

  Slice At(int64_t index) const {
    const int64_t depth = first.kernel + index * step;
    return {first.output - index, depth, first.first || depth == 0};
  }
};

// REQUIRES: no dilation along the depth.
class Slices {
 public:
  explicit Slices(const Geometry& geometry);

  SliceRun Of(int64_t input) const;

  // Of all input planes, and of the one with the fewest, the most.
  int64_t total() const { return total_; }
  int64_t fewest() const { return fewest_; }
  int64_t most() const { return most_; }

 private:
  std::vector<Residue> residues_;
  int64_t stride_ = 1, outputs_ = 0;
  int64_t total_ = 0, fewest_ = 0, most_ = 0;
};

}  // namespace canopy::conv::sheets

#endif  // CANOPY_CONV_SHEETS_DEPTH_H_
