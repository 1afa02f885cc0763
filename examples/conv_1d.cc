// SPDX-License-Identifier: Apache-2.0
// The gradients of a 1D convolution with stride 2 and padding 1.
#include "aclnnop/aclnn_convolution_backward.h"
#include "device.h"

int main() {
  example::Device device;
  // y[o] = sum over k of x[2o - 1 + k] w[k], for o = 0, 1, 2; the tap before x[0] and the one behind x[4] are absent.
  const example::Tensor grad_output({1, 1, 3}, ACL_FORMAT_NCL, {1, 2, 3});
  const example::Tensor input({1, 1, 5}, ACL_FORMAT_NCL, {1, 2, 3, 4, 5});
  const example::Tensor weight({1, 1, 3}, ACL_FORMAT_NCL, {1, 10, 100});
  const example::Tensor grad_input({1, 1, 5}, ACL_FORMAT_NCL);
  const example::Tensor grad_weight({1, 1, 3}, ACL_FORMAT_NCL);
  const example::Tensor grad_bias({1}, ACL_FORMAT_ND);
  const example::IntArray bias_sizes({1}), stride({2}), padding({1}), dilation({1}), output_padding({0});
  const example::OutputMask all(true, true, true);

  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  example::Must(
      aclnnConvolutionBackwardGetWorkspaceSize(
          grad_output.get(), input.get(), weight.get(), bias_sizes.get(), stride.get(), padding.get(), dilation.get(),
          /*transposed=*/false, output_padding.get(), /*groups=*/1, all.get(),
          /*cubeMathType=*/0, grad_input.get(), grad_weight.get(), grad_bias.get(), &workspace_bytes, &executor),
      "aclnnConvolutionBackwardGetWorkspaceSize");
  device.Launch(aclnnConvolutionBackward, workspace_bytes, executor, "aclnnConvolutionBackward");
  device.Wait();

  bool right = example::Show("gradInput", grad_input, {1 * 10, 1 * 100 + 2 * 1, 2 * 10, 2 * 100 + 3 * 1, 3 * 10});
  right &= example::Show("gradWeight", grad_weight, {2 * 2 + 3 * 4, 1 * 1 + 2 * 3 + 3 * 5, 1 * 2 + 2 * 4});
  right &= example::Show("gradBias", grad_bias, {1 + 2 + 3});
  return right ? 0 : 1;
}
