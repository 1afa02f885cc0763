// SPDX-License-Identifier: Apache-2.0
// The oracle: convolutions in double precision, written from the mathematics of the operators and not from the engine.
//
// Every operator is about three tensors. A kernel slides over the *image*; each of its placements gives one element of
// the *response*; the *weight* joins them:
//   response[n, r, o] = sum over c, kk of image[n, c, o * stride - pad + kk * dilation] * weight[r, c, kk].
// Positions outside the image are skipped, never multiplied by zero. In a plain convolution the image is its input and
// the response its output; in a transposed one it is the other way round. The three tensors determine each other's
// gradients, so there are three sums, one for each tensor.
#ifndef CANOPY_TESTS_ORACLE_GEOMETRY_H_
#define CANOPY_TESTS_ORACLE_GEOMETRY_H_

#include <array>
#include <cstdint>

namespace canopy::oracle {

using Extent3 = std::array<int64_t, 3>;  // depth, height, width

// (n, channel, depth, height, width), or for weights (response channel, image channel in its group, d, h, w).
using Index5 = std::array<int64_t, 5>;

struct Geometry {
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t image_channels = 1;     // all groups together
  int64_t response_channels = 1;  // all groups together
  Extent3 image{1, 1, 1};
  Extent3 response{1, 1, 1};
  Extent3 kernel{1, 1, 1};
  Extent3 stride{1, 1, 1};
  Extent3 dilation{1, 1, 1};
  Extent3 pad{};  // in front of each axis

  int64_t group_image_channels() const { return image_channels / groups; }
  int64_t group_response_channels() const { return response_channels / groups; }
};

// A tensor to read. Values are FP32 because every type of the operators is exact in it.
struct Array {
  const float* data = nullptr;
  Index5 strides{};  // elements

  const float* at(const Index5& index) const {
    const float* address = data;
    for (int axis = 0; axis < 5; ++axis) address += index[axis] * strides[axis];
    return address;
  }
};

// A tensor to write.
struct Result {
  double* data = nullptr;
  Index5 strides{};

  double* at(const Index5& index) const {
    double* address = data;
    for (int axis = 0; axis < 5; ++axis) address += index[axis] * strides[axis];
    return address;
  }
};

}  // namespace canopy::oracle

#endif  // CANOPY_TESTS_ORACLE_GEOMETRY_H_
