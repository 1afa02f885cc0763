// SPDX-License-Identifier: Apache-2.0
// The gradients of a 3D convolution: a 2x2x2 kernel over a 2x2x2 block with one layer of padding in front and behind.
#include "aclnnop/aclnn_convolution_backward.h"
#include "device.h"

int main() {
  example::Device device;
  // Three results: the kernel's back half on the block's front half (1), both on both (10), front on back (100).
  const example::Tensor grad_output({1, 1, 3, 1, 1}, ACL_FORMAT_NCDHW, {1, 10, 100});
  const example::Tensor input({1, 1, 2, 2, 2}, ACL_FORMAT_NCDHW, {1, 2, 3, 4, 5, 6, 7, 8});
  const example::Tensor weight({1, 1, 2, 2, 2}, ACL_FORMAT_NCDHW, {1, 2, 3, 4, 5, 6, 7, 8});
  const example::Tensor grad_input({1, 1, 2, 2, 2}, ACL_FORMAT_NCDHW);
  const example::Tensor grad_weight({1, 1, 2, 2, 2}, ACL_FORMAT_NCDHW);
  const example::Tensor grad_bias({1}, ACL_FORMAT_ND);
  const example::IntArray bias_sizes({1}), stride({1, 1, 1}), padding({1, 0, 0}), dilation({1, 1, 1});
  const example::IntArray output_padding({0, 0, 0});
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

  // Front half: back of the kernel once, front of it ten times. Back half: ten times and a hundred times.
  bool right = example::Show("gradInput", grad_input,
                             {5 + 10 * 1, 6 + 10 * 2, 7 + 10 * 3, 8 + 10 * 4, 10 * 5 + 100 * 1, 10 * 6 + 100 * 2,
                              10 * 7 + 100 * 3, 10 * 8 + 100 * 4});
  right &= example::Show("gradWeight", grad_weight,
                         {10 * 1 + 100 * 5, 10 * 2 + 100 * 6, 10 * 3 + 100 * 7, 10 * 4 + 100 * 8, 1 + 10 * 5,
                          2 + 10 * 6, 3 + 10 * 7, 4 + 10 * 8});
  right &= example::Show("gradBias", grad_bias, {1 + 10 + 100});
  return right ? 0 : 1;
}
