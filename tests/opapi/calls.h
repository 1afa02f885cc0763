// SPDX-License-Identifier: Apache-2.0
// The operators' first calls over DeviceTensors, with the attributes of a call in one struct.
#ifndef CANOPY_TESTS_OPAPI_CALLS_H_
#define CANOPY_TESTS_OPAPI_CALLS_H_

#include <array>
#include <vector>

#include "tests/opapi/device.h"

namespace canopy::tests {

struct ConvAttributes {
  std::vector<int64_t> stride{1, 1};
  std::vector<int64_t> padding{0, 0};
  std::vector<int64_t> dilation{1, 1};
  bool transposed = false;
  std::vector<int64_t> output_padding{0, 0};
  int64_t groups = 1;
  int math = 0;
  std::array<bool, 3> mask{true, true, true};
  std::vector<int64_t> bias_sizes{};  // empty: NULL
};

// Attributes of `rank` spatial axes with the same value on each.
ConvAttributes Uniform(size_t rank, int64_t stride = 1, int64_t padding = 0, int64_t dilation = 1);

struct Gradients {
  const DeviceTensor* input;
  const DeviceTensor* weight;
  const DeviceTensor* bias;
};

TwoPhases ConvolutionBackward(const DeviceTensor& grad_output, const DeviceTensor& input, const DeviceTensor& weight,
                              const ConvAttributes& attributes, const Gradients& gradients);
TwoPhases ConvTbcBackward(const DeviceTensor& self, const DeviceTensor& input, const DeviceTensor& weight,
                          const DeviceTensor& bias, int64_t pad, int math, const Gradients& gradients);
TwoPhases Convolution(const DeviceTensor& input, const DeviceTensor& weight, const DeviceTensor* bias,
                      const ConvAttributes& attributes, const DeviceTensor& output);
TwoPhases ConvTbc(const DeviceTensor& self, const DeviceTensor& weight, const DeviceTensor& bias, int64_t pad, int math,
                  const DeviceTensor& output);
TwoPhases ConvDepthwise2d(const DeviceTensor& self, const DeviceTensor& weight, const DeviceTensor* bias,
                          const std::vector<int64_t>& kernel_size, const ConvAttributes& attributes,
                          const DeviceTensor& out);

}  // namespace canopy::tests

#endif  // CANOPY_TESTS_OPAPI_CALLS_H_
