// SPDX-License-Identifier: Apache-2.0
// Bias gradients beside weight gradients: sums of the channels that these multiply, made while a cache has them. Jobs
// add to slots of their own, which are added up in their order.
#ifndef CANOPY_CONV_BIAS_SUMS_H_
#define CANOPY_CONV_BIAS_SUMS_H_

#include <string_view>

#include "conv/problem.h"

namespace canopy::conv {

// Why weight gradients do not meet each number that a bias gradient sums once, under some kernel offset, or nothing.
// Those of the output are all met.
std::string_view RefuseBiasSums(const Geometry& geometry, Computation bias);

// Channels from[r * stride], r < rows, of some images: so many numbers of each, image_stride apart.
struct ChannelRows {
  const float* from;
  int64_t stride, rows;
  int64_t count, images, image_stride;
};

// sums[r] += row r. Up to 512 numbers of an image, and those of all images, are added up in FP32.
void AddRowSums(const ChannelRows& rows, double* sums);

// sums[l] += lane l of [term][lane], lanes of one panel; `terms` are added up in FP32.
void AddLaneSums(const float* panel, int64_t width, int64_t terms, int64_t lanes, double* sums);

// Stores the sums of all slots, [slot][channel][tap].
void StoreBiasSums(const ConvProblem& problem, const Buffers& buffers, int64_t slots, int64_t taps, bool serial,
                   const double* sums);

}  // namespace canopy::conv

#endif  // CANOPY_CONV_BIAS_SUMS_H_
