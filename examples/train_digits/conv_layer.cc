// SPDX-License-Identifier: Apache-2.0
#include "conv_layer.h"

#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"

namespace {

const int8_t kKeepDtype = 0;

example::Shape InputShape(const ConvShape& shape) {
  return {shape.batch, shape.in_channels, shape.in_side, shape.in_side};
}
example::Shape OutputShape(const ConvShape& shape) {
  return {shape.batch, shape.out_channels, shape.out_side(), shape.out_side()};
}
example::Shape WeightShape(const ConvShape& shape) { return {shape.out_channels, shape.in_channels, 3, 3}; }

}  // namespace

ConvLayer::ConvLayer(example::Device* device, const ConvShape& shape, bool first, std::mt19937* random)
    : device_(device),
      first_(first),
      weight_values_(shape.out_channels * shape.in_channels * 9),
      bias_values_(shape.out_channels),
      input_(InputShape(shape), ACL_FORMAT_NCHW),
      weight_(WeightShape(shape), ACL_FORMAT_NCHW),
      bias_({shape.out_channels}, ACL_FORMAT_ND),
      output_(OutputShape(shape), ACL_FORMAT_NCHW),
      grad_output_(OutputShape(shape), ACL_FORMAT_NCHW),
      grad_input_(InputShape(shape), ACL_FORMAT_NCHW),
      grad_weight_(WeightShape(shape), ACL_FORMAT_NCHW),
      grad_bias_({shape.out_channels}, ACL_FORMAT_ND),
      stride_({shape.stride, shape.stride}),
      padding_({1, 1}),
      dilation_({1, 1}),
      output_padding_({0, 0}),
      bias_sizes_({shape.out_channels}),
      mask_(!first, true, true) {
  weight_values_.Draw(shape.in_channels * 9, random);
  weight_.Write(weight_values_.values);
  bias_.Write(bias_values_.values);
}

std::vector<float> ConvLayer::Forward(const std::vector<float>& input) {
  input_.Write(input);
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  example::Must(
      aclnnConvolutionGetWorkspaceSize(input_.get(), weight_.get(), bias_.get(), stride_.get(), padding_.get(),
                                       dilation_.get(), /*transposed=*/false, output_padding_.get(), /*groups=*/1,
                                       output_.get(), kKeepDtype, &workspace_bytes, &executor),
      "aclnnConvolutionGetWorkspaceSize");
  device_->Launch(aclnnConvolution, workspace_bytes, executor, "aclnnConvolution");
  device_->Wait();
  return output_.Read();
}

std::vector<float> ConvLayer::Backward(const std::vector<float>& grad_output) {
  grad_output_.Write(grad_output);
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  example::Must(
      aclnnConvolutionBackwardGetWorkspaceSize(
          grad_output_.get(), input_.get(), weight_.get(), bias_sizes_.get(), stride_.get(), padding_.get(),
          dilation_.get(), /*transposed=*/false, output_padding_.get(), /*groups=*/1, mask_.get(), kKeepDtype,
          first_ ? nullptr : grad_input_.get(), grad_weight_.get(), grad_bias_.get(), &workspace_bytes, &executor),
      "aclnnConvolutionBackwardGetWorkspaceSize");
  device_->Launch(aclnnConvolutionBackward, workspace_bytes, executor, "aclnnConvolutionBackward");
  device_->Wait();
  weight_values_.gradient = grad_weight_.Read();
  bias_values_.gradient = grad_bias_.Read();
  return first_ ? std::vector<float>() : grad_input_.Read();
}

void ConvLayer::Learn(float rate, int step) {
  weight_values_.AdamStep(rate, step);
  bias_values_.AdamStep(rate, step);
  weight_.Write(weight_values_.values);
  bias_.Write(bias_values_.values);
}
