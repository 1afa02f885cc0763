// SPDX-License-Identifier: Apache-2.0
// What sheets cannot hold, in words; empty where they can.
#ifndef CANOPY_CONV_SHEETS_ACCEPTS_H_
#define CANOPY_CONV_SHEETS_ACCEPTS_H_

#include <cstdint>
#include <string_view>

#include "conv/problem.h"

namespace canopy::conv::sheets {

// Of an axis.
inline constexpr int64_t kMostKernelExtent = 64;

// Depthwise convolutions over planes of rows of up to `most_columns`.
std::string_view RefuseDepthwise(const Geometry& geometry, int64_t most_columns);

// Those whose kernels have a depth.
std::string_view RefuseDepth(const Geometry& geometry);

// Data and weight gradients of depthwise convolutions, or both, and the bias gradient in one pass over the output's.
std::string_view RefuseJoint(const ConvProblem& problem, Computation computation);

}  // namespace canopy::conv::sheets

#endif  // CANOPY_CONV_SHEETS_ACCEPTS_H_
