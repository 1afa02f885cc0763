// SPDX-License-Identifier: Apache-2.0
// A convolution to differentiate: its sizes, and random ones of a chosen kind.
#ifndef EXAMPLES_GRADIENT_CHECK_PROBLEM_H_
#define EXAMPLES_GRADIENT_CHECK_PROBLEM_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "acl/acl_base.h"

using Extents = std::vector<int64_t>;

// What a random problem must exercise; everything else about it is left to chance.
struct Kind {
  int rank;  // 1, 2 or 3 spatial axes
  bool transposed;
  int64_t groups;
  bool depthwise;  // one input channel a group
  int64_t max_stride;
  int64_t max_dilation;
};

struct Problem {
  bool transposed;
  int64_t groups;
  int64_t batch, in_channels, out_channels;
  Extents in, out, kernel, stride, padding, dilation, output_padding;  // an entry for each spatial axis

  int rank() const { return static_cast<int>(in.size()); }
  Extents InputShape() const;
  Extents WeightShape() const;
  Extents OutputShape() const;
  aclFormat Format() const;
  std::string Text() const;  // as the `canopy` command line takes it
};

Problem RandomProblem(const Kind& kind, std::mt19937* random);

// A whole number in [low, high]; the same on every platform, unlike the standard library's distributions.
inline int64_t Between(std::mt19937* random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>((*random)() % static_cast<uint64_t>(high - low + 1));
}

#endif  // EXAMPLES_GRADIENT_CHECK_PROBLEM_H_
