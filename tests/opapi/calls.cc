// SPDX-License-Identifier: Apache-2.0
#include "tests/opapi/calls.h"

#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"

namespace canopy::tests {
namespace {

aclTensor* HandleOf(const DeviceTensor* tensor) { return tensor == nullptr ? nullptr : tensor->get(); }

}  // namespace

ConvAttributes Uniform(size_t rank, int64_t stride, int64_t padding, int64_t dilation) {
  ConvAttributes attributes;
  attributes.stride.assign(rank, stride);
  attributes.padding.assign(rank, padding);
  attributes.dilation.assign(rank, dilation);
  attributes.output_padding.assign(rank, 0);
  return attributes;
}

TwoPhases ConvolutionBackward(const DeviceTensor& grad_output, const DeviceTensor& input, const DeviceTensor& weight,
                              const ConvAttributes& a, const Gradients& gradients) {
  TwoPhases call;
  const IntArray bias_sizes(a.bias_sizes);
  call.first = aclnnConvolutionBackwardGetWorkspaceSize(
      grad_output.get(), input.get(), weight.get(), a.bias_sizes.empty() ? nullptr : bias_sizes.get(),
      IntArray(a.stride), IntArray(a.padding), IntArray(a.dilation), a.transposed, IntArray(a.output_padding),
      static_cast<int>(a.groups), BoolArray(a.mask[0], a.mask[1], a.mask[2]), static_cast<int8_t>(a.math),
      HandleOf(gradients.input), HandleOf(gradients.weight), HandleOf(gradients.bias), &call.workspace_size,
      &call.executor);
  return call;
}

TwoPhases ConvTbcBackward(const DeviceTensor& self, const DeviceTensor& input, const DeviceTensor& weight,
                          const DeviceTensor& bias, int64_t pad, int math, const Gradients& gradients) {
  TwoPhases call;
  call.first = aclnnConvTbcBackwardGetWorkspaceSize(
      self.get(), input.get(), weight.get(), bias.get(), pad, static_cast<int8_t>(math), HandleOf(gradients.input),
      HandleOf(gradients.weight), HandleOf(gradients.bias), &call.workspace_size, &call.executor);
  return call;
}

TwoPhases Convolution(const DeviceTensor& input, const DeviceTensor& weight, const DeviceTensor* bias,
                      const ConvAttributes& a, const DeviceTensor& output) {
  TwoPhases call;
  call.first = aclnnConvolutionGetWorkspaceSize(input.get(), weight.get(), HandleOf(bias), IntArray(a.stride),
                                                IntArray(a.padding), IntArray(a.dilation), a.transposed,
                                                IntArray(a.output_padding), a.groups, output.get(),
                                                static_cast<int8_t>(a.math), &call.workspace_size, &call.executor);
  return call;
}

TwoPhases ConvTbc(const DeviceTensor& self, const DeviceTensor& weight, const DeviceTensor& bias, int64_t pad, int math,
                  const DeviceTensor& output) {
  TwoPhases call;
  call.first = aclnnConvTbcGetWorkspaceSize(self.get(), weight.get(), bias.get(), pad, output.get(),
                                            static_cast<int8_t>(math), &call.workspace_size, &call.executor);
  return call;
}

TwoPhases ConvDepthwise2d(const DeviceTensor& self, const DeviceTensor& weight, const DeviceTensor* bias,
                          const std::vector<int64_t>& kernel_size, const ConvAttributes& a, const DeviceTensor& out) {
  TwoPhases call;
  call.first = aclnnConvDepthwise2dGetWorkspaceSize(
      self.get(), weight.get(), IntArray(kernel_size), HandleOf(bias), IntArray(a.stride), IntArray(a.padding),
      IntArray(a.dilation), out.get(), static_cast<int8_t>(a.math), &call.workspace_size, &call.executor);
  return call;
}

}  // namespace canopy::tests
