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

// What an input plane meets.
struct Slice {
  int64_t output = 0;  // plane
  int64_t kernel = 0;  // depth
  bool first = false;  // no input plane before meets that output plane
};

// REQUIRES: no dilation along the depth.
class Slices {
 public:
  explicit Slices(const Geometry& geometry);

  int64_t CountAt(int64_t input) const { return EndAt(input) - BeginAt(input); }
  Slice At(int64_t input, int64_t index) const;

  // Of all input planes, and of the one with the fewest, the most.
  int64_t total() const { return total_; }
  int64_t fewest() const { return fewest_; }
  int64_t most() const { return most_; }

 private:
  // Kernel offsets of the input plane's residue whose output planes exist.
  int64_t BeginAt(int64_t input) const;
  int64_t EndAt(int64_t input) const;
  const Residue& ResidueOf(int64_t input) const;

  std::vector<Residue> residues_;
  int64_t stride_ = 1, pad_ = 0, outputs_ = 0;
  int64_t total_ = 0, fewest_ = 0, most_ = 0;
};

}  // namespace canopy::conv::sheets

#endif  // CANOPY_CONV_SHEETS_DEPTH_H_
