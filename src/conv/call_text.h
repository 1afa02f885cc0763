// SPDX-License-Identifier: Apache-2.0
// One operator call as its caller wrote it, and its one-line text form (docs/problem-text.md): what the command line,
// logs, benches and problem lists speak.
//
//   conv_backward f32 n8 ci64 co128 in56x56 k3x3 s1x1 p1x1 d1x1 g1 mask111 math0
//   tbc_backward f32 t45 b32 ci512 co512 k3 pad1 math0
//
// This is the call before any check: it may be one that the operator refuses.
#ifndef CANOPY_CONV_CALL_TEXT_H_
#define CANOPY_CONV_CALL_TEXT_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "numerics/dtype.h"

namespace canopy::conv {

enum class CallOp : uint8_t { kConvBackward, kTbcBackward, kConvForward, kTbcForward, kDepthwiseForward };

// Every tensor that some operator takes. What the TBC and depthwise operators call self is kGradOutput in their
// backward and kInput in their forward form.
enum class CallTensor : uint8_t { kGradOutput, kInput, kWeight, kBias, kGradInput, kGradWeight, kGradBias, kOutput };
inline constexpr int kCallTensors = 8;

enum class CallLayout : uint8_t {
  kContiguous,
  kChannelsLast,  // tensors of a convolution only: axis 1 is innermost in memory
  kStrided,
};

struct CallTensorForm {
  numerics::DType dtype = numerics::DType::kFloat32;
  CallLayout layout = CallLayout::kContiguous;
  std::vector<int64_t> strides;  // kStrided: one for each axis of the tensor's shape, in elements
  int64_t offset = 0;            // elements
  bool null = false;             // passed as a null handle (gradients that the mask leaves out, for one)

  friend bool operator==(const CallTensorForm&, const CallTensorForm&) = default;
};

struct Call {
  CallOp op = CallOp::kConvBackward;
  int64_t batch = 1;  // B of the TBC operators
  int64_t input_channels = 0;
  int64_t output_channels = 0;
  // One entry a spatial axis, outermost first. TBC: one axis, T; kernel is K.
  std::vector<int64_t> input_size;
  std::vector<int64_t> kernel;
  std::vector<int64_t> stride;
  std::vector<int64_t> padding;  // also 4 entries (top, bottom, left, right) in 2D, 2 (left, right) in 1D
  std::vector<int64_t> dilation;
  std::vector<int64_t> output_padding;
  int64_t groups = 1;  // kDepthwiseForward: equal to input_channels
  bool transposed = false;
  bool has_bias = false;  // the TBC operators always have one, ConvolutionBackward never
  std::array<bool, 3> mask{true, true, true};
  int math = 0;  // cubeMathType
  std::array<CallTensorForm, kCallTensors> tensors;

  CallTensorForm& form(CallTensor tensor) { return tensors[static_cast<int>(tensor)]; }
  const CallTensorForm& form(CallTensor tensor) const { return tensors[static_cast<int>(tensor)]; }

  friend bool operator==(const Call&, const Call&) = default;
};

// "grad_output", "input", ...
const char* CallTensorName(CallTensor tensor);
// "f32", "f16", "bf16", "hif8", "f8e4m3".
const char* DTypeName(numerics::DType dtype);
// Whether the operator takes this tensor in this call.
bool CallHasTensor(const Call& call, CallTensor tensor);

// Spatial sizes of the convolution's result, outermost first. An attribute below its least value counts as that value,
// and a size never falls below 0, so that refused calls have shapes too.
std::vector<int64_t> CallOutputSize(const Call& call);
// Shape of a tensor as the operator's documentation writes it: (N, C, spatial...), TBC, (C).
std::vector<int64_t> CallShape(const Call& call, CallTensor tensor);
// Strides of a tensor in elements, explicit whatever its layout.
std::vector<int64_t> CallStrides(const Call& call, CallTensor tensor);

// Makes `strides` the tensor's layout, in its plainest form.
void SetCallStrides(Call* call, CallTensor tensor, const std::vector<int64_t>& strides);
// Gives every tensor one dtype.
void SetCallDType(Call* call, numerics::DType dtype);

// The canonical line: every field, every axis. ParseCall(FormatCall(c)) gives c back where tensors that the call does
// not have keep the dtype of `input` and the other defaults.
std::string FormatCall(const Call& call);

// Refuses with a sentence that names the field, what it was and what is allowed; code 161002.
base::Status ParseCall(std::string_view text, Call* call);

}  // namespace canopy::conv

#endif  // CANOPY_CONV_CALL_TEXT_H_
