// SPDX-License-Identifier: Apache-2.0
// The gradients of a time-batch-channel convolution: 3 steps in time, a batch of 2, one channel, 2 taps, padding 1.
#include "aclnnop/aclnn_convolution_backward.h"
#include "device.h"

int main() {
  example::Device device;
  // y[t][b] = bias + x[t - 1][b] w[0] + x[t][b] w[1], for t = 0..3. Memory order is t, then b.
  const example::Tensor grad_output({4, 2, 1}, ACL_FORMAT_NCL, {1, 1, 1, 2, 1, 3, 1, 4});
  const example::Tensor input({3, 2, 1}, ACL_FORMAT_NCL, {1, 10, 2, 20, 3, 30});
  const example::Tensor weight({2, 1, 1}, ACL_FORMAT_NCL, {1, 10});
  const example::Tensor bias({1}, ACL_FORMAT_ND, {0});
  const example::Tensor grad_input({3, 2, 1}, ACL_FORMAT_NCL);
  const example::Tensor grad_weight({2, 1, 1}, ACL_FORMAT_NCL);
  const example::Tensor grad_bias({1}, ACL_FORMAT_ND);

  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  example::Must(aclnnConvTbcBackwardGetWorkspaceSize(grad_output.get(), input.get(), weight.get(), bias.get(),
                                                     /*pad=*/1, /*cubeMathType=*/0, grad_input.get(), grad_weight.get(),
                                                     grad_bias.get(), &workspace_bytes, &executor),
                "aclnnConvTbcBackwardGetWorkspaceSize");
  device.Launch(aclnnConvTbcBackward, workspace_bytes, executor, "aclnnConvTbcBackward");
  device.Wait();

  // x[t] met w[1] in y[t] and w[0] in y[t + 1].
  bool right =
      example::Show("gradInput", grad_input, {10 * 1 + 1, 10 * 1 + 2, 10 * 1 + 1, 10 * 2 + 3, 10 * 1 + 1, 10 * 3 + 4});
  right &= example::Show("gradWeight", grad_weight,
                         {(1 + 2 + 3) + (10 * 2 + 20 * 3 + 30 * 4), (1 + 2 + 3) + (10 * 1 + 20 * 2 + 30 * 3)});
  right &= example::Show("gradBias", grad_bias, {4 * 1 + 1 + 2 + 3 + 4});
  return right ? 0 : 1;
}
