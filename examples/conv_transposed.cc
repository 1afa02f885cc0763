// SPDX-License-Identifier: Apache-2.0
// The gradients of a transposed convolution (the kind that enlarges) with stride 2, padding 1 and outputPadding 1.
#include "aclnnop/aclnn_convolution_backward.h"
#include "device.h"

int main() {
  example::Device device;
  // Forward, x[i] w[k] was added to y[2i - 1 + k]: 3 columns became (3 - 1) * 2 - 2 * 1 + (3 - 1) + 1 + 1 = 6.
  const example::Tensor grad_output({1, 1, 1, 6}, ACL_FORMAT_NCHW, {1, 2, 3, 4, 5, 6});
  const example::Tensor input({1, 1, 1, 3}, ACL_FORMAT_NCHW, {1, 2, 3});
  const example::Tensor weight({1, 1, 1, 3}, ACL_FORMAT_NCHW, {1, 10, 100});
  const example::Tensor grad_input({1, 1, 1, 3}, ACL_FORMAT_NCHW);
  const example::Tensor grad_weight({1, 1, 1, 3}, ACL_FORMAT_NCHW);
  const example::Tensor grad_bias({1}, ACL_FORMAT_ND);
  const example::IntArray bias_sizes({1}), stride({1, 2}), padding({0, 1}), dilation({1, 1}), output_padding({0, 1});
  const example::OutputMask all(true, true, true);

  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  example::Must(
      aclnnConvolutionBackwardGetWorkspaceSize(
          grad_output.get(), input.get(), weight.get(), bias_sizes.get(), stride.get(), padding.get(), dilation.get(),
          /*transposed=*/true, output_padding.get(), /*groups=*/1, all.get(),
          /*cubeMathType=*/0, grad_input.get(), grad_weight.get(), grad_bias.get(), &workspace_bytes, &executor),
      "aclnnConvolutionBackwardGetWorkspaceSize");
  device.Launch(aclnnConvolutionBackward, workspace_bytes, executor, "aclnnConvolutionBackward");
  device.Wait();

  bool right =
      example::Show("gradInput", grad_input, {1 * 10 + 2 * 100, 2 * 1 + 3 * 10 + 4 * 100, 4 * 1 + 5 * 10 + 6 * 100});
  right &= example::Show("gradWeight", grad_weight, {2 * 2 + 3 * 4, 1 * 1 + 2 * 3 + 3 * 5, 1 * 2 + 2 * 4 + 3 * 6});
  right &= example::Show("gradBias", grad_bias, {1 + 2 + 3 + 4 + 5 + 6});
  return right ? 0 : 1;
}
