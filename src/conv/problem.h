// SPDX-License-Identifier: Apache-2.0
// The canonical convolution: always three spatial axes, groups, explicit strides for every tensor. 1D, 2D, TBC, views
// and transposed convolutions are all this one thing, and no later line asks what they were.
//
// The geometry is that of a plain convolution that maps *input* to *output*:
//   output[n, co, o] = sum over ci of co's group and kernel offsets kk of input[n, ci, o*stride - pad_begin +
//   kk*dilation]
//                      * weight[co, ci - first ci of the group, kk]
// with out-of-range input positions absent. A transposed convolution is the same geometry read backwards: what its
// caller calls input plays *output* here, and its forward computation is BackwardData.
#ifndef CANOPY_CONV_PROBLEM_H_
#define CANOPY_CONV_PROBLEM_H_

#include <array>
#include <cstdint>

#include "numerics/dtype.h"

namespace canopy::conv {

using Extent3 = std::array<int64_t, 3>;  // depth, height, width

struct Geometry {
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t input_channels = 0;   // all groups together
  int64_t output_channels = 0;  // all groups together
  Extent3 input_size{};
  Extent3 output_size{};
  Extent3 kernel{1, 1, 1};
  Extent3 stride{1, 1, 1};
  Extent3 dilation{1, 1, 1};
  Extent3 pad_begin{};  // padding behind follows from output_size

  int64_t group_input_channels() const { return input_channels / groups; }
  int64_t group_output_channels() const { return output_channels / groups; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }

  friend bool operator==(const Geometry&, const Geometry&) = default;
};

// Strides in elements, any sign, 0 for expanded axes, of (n, c, d, h, w), or of (co, ci in group, kd, kh, kw) for
// weights. A bias has only strides[1], its channel stride. Overlapping results are the caller's mistake.
struct Operand {
  numerics::DType dtype = numerics::DType::kFloat32;
  std::array<int64_t, 5> strides{};

  friend bool operator==(const Operand&, const Operand&) = default;
};

// Which results are wanted; any combination of the backward ones, or kForward alone, or kBackwardData alone with a
// bias.
enum Computation : uint8_t {
  kForward = 1,          // output_result = input * weight (+ bias)
  kBackwardData = 2,     // input_result = weight^T * output (+ bias, for transposed forward)
  kBackwardWeights = 4,  // weight_result = correlation of input and output
  kBiasFromOutput = 8,   // bias_result[c] = sum of output over batch and space
  kBiasFromInput = 16,   // bias_result[c] = sum of input over batch and space (transposed)
};

inline constexpr Computation kAllComputations[] = {kForward, kBackwardData, kBackwardWeights, kBiasFromOutput,
                                                   kBiasFromInput};

struct ConvProblem {
  Geometry geometry;
  numerics::NumericRule rule;
  uint8_t computations = 0;  // OR of Computation
  bool has_bias = false;     // the bias operand is added to kForward's or kBackwardData's result, unrounded

  // Whether the operand's elements are FP32 and are read and written without conversion.
  bool IsPlain(const Operand& operand) const {
    return operand.dtype == numerics::DType::kFloat32 && rule == numerics::NumericRule{};
  }
  // Whether who reads the operand for products can sum its elements unrounded too: FP32 ones stand in memory as they
  // are, others are rounded on the way.
  bool ReadsUnrounded(const Operand& operand) const {
    return operand.dtype == numerics::DType::kFloat32 || rule.input_rounding == numerics::InputRounding::kNone;
  }

  // Whether products multiply both gradients' operands as they stand in memory, FP32 and unrounded.
  bool MultipliesPlain() const {
    return input.dtype == numerics::DType::kFloat32 && output.dtype == numerics::DType::kFloat32 &&
           rule.input_rounding == numerics::InputRounding::kNone;
  }

  // Read, where a wanted computation reads them.
  Operand input, weight, output, bias;
  // Written, where the computation is wanted.
  Operand input_result, weight_result, output_result, bias_result;

  friend bool operator==(const ConvProblem&, const ConvProblem&) = default;
};

// Addresses of element (0, 0, 0, 0, 0) of each operand; nullptr where unused.
struct Buffers {
  const void* input = nullptr;
  const void* weight = nullptr;
  const void* output = nullptr;
  const void* bias = nullptr;
  void* input_result = nullptr;
  void* weight_result = nullptr;
  void* output_result = nullptr;
  void* bias_result = nullptr;
};

}  // namespace canopy::conv

#endif  // CANOPY_CONV_PROBLEM_H_
