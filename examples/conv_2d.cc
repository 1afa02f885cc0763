// SPDX-License-Identifier: Apache-2.0
// The gradients of a 2D convolution, every step spelt out: start here. The other examples do the same through the
// short helpers of device.h.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_convolution_backward.h"

namespace {

// Ends the program on the first refusal, with the library's own words.
void Must(int status, const char* what) {
  if (status == ACL_SUCCESS) return;
  const char* message = aclGetRecentErrMsg();
  std::printf("%s failed with %d: %s\n", what, status, message != nullptr ? message : "(no message)");
  std::exit(1);
}

// Device memory holding `values`, and a tensor of `shape` over it.
aclTensor* MakeTensor(const std::vector<int64_t>& shape, aclFormat format, const std::vector<float>& values,
                      void** address) {
  const size_t bytes = values.size() * sizeof(float);
  Must(aclrtMalloc(address, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  Must(aclrtMemcpy(*address, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy to device");
  std::vector<int64_t> strides(shape.size(), 1);
  for (int i = static_cast<int>(shape.size()) - 2; i >= 0; --i) strides[i] = strides[i + 1] * shape[i + 1];
  return aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.data(), 0, format, shape.data(), shape.size(),
                         *address);
}

// Copies a result back, prints it and compares it with what a person computes by hand.
bool Show(const char* name, const void* address, const std::vector<float>& expected) {
  std::vector<float> values(expected.size());
  const size_t bytes = values.size() * sizeof(float);
  Must(aclrtMemcpy(values.data(), bytes, address, bytes, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy to host");
  std::printf("%-11s", name);
  bool right = true;
  for (size_t i = 0; i < values.size(); ++i) {
    std::printf(" %g", values[i]);
    right = right && values[i] == expected[i];
  }
  std::printf("  %s\n", right ? "as expected" : "WRONG");
  return right;
}

}  // namespace

int main() {
  // 1. A device and a stream.
  const int32_t device = 0;
  aclrtStream stream = nullptr;
  Must(aclInit(nullptr), "aclInit");
  Must(aclrtSetDevice(device), "aclrtSetDevice");
  Must(aclrtCreateStream(&stream), "aclrtCreateStream");

  // 2. Inputs and outputs: a 3x3 image, a 2x2 kernel, and dL/dy = 1 at each of the four places of the kernel.
  void *grad_output_data, *input_data, *weight_data, *grad_input_data, *grad_weight_data, *grad_bias_data;
  aclTensor* grad_output = MakeTensor({1, 1, 2, 2}, ACL_FORMAT_NCHW, {1, 1, 1, 1}, &grad_output_data);
  aclTensor* input = MakeTensor({1, 1, 3, 3}, ACL_FORMAT_NCHW, {1, 2, 3, 4, 5, 6, 7, 8, 9}, &input_data);
  aclTensor* weight = MakeTensor({1, 1, 2, 2}, ACL_FORMAT_NCHW, {1, 10, 100, 1000}, &weight_data);
  aclTensor* grad_input = MakeTensor({1, 1, 3, 3}, ACL_FORMAT_NCHW, std::vector<float>(9), &grad_input_data);
  aclTensor* grad_weight = MakeTensor({1, 1, 2, 2}, ACL_FORMAT_NCHW, std::vector<float>(4), &grad_weight_data);
  aclTensor* grad_bias = MakeTensor({1}, ACL_FORMAT_ND, std::vector<float>(1), &grad_bias_data);
  const int64_t one[] = {1, 1}, zero[] = {0, 0}, bias_length[] = {1};
  const bool all[] = {true, true, true};
  aclIntArray* stride = aclCreateIntArray(one, 2);
  aclIntArray* padding = aclCreateIntArray(zero, 2);
  aclIntArray* dilation = aclCreateIntArray(one, 2);
  aclIntArray* output_padding = aclCreateIntArray(zero, 2);
  aclIntArray* bias_sizes = aclCreateIntArray(bias_length, 1);
  aclBoolArray* output_mask = aclCreateBoolArray(all, 3);

  // 3. Phase 1 checks the call and says how much workspace it wants; phase 2 queues it on the stream.
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  const bool transposed = false;
  const int groups = 1;
  const int8_t keep_dtype = 0;
  Must(aclnnConvolutionBackwardGetWorkspaceSize(grad_output, input, weight, bias_sizes, stride, padding, dilation,
                                                transposed, output_padding, groups, output_mask, keep_dtype, grad_input,
                                                grad_weight, grad_bias, &workspace_bytes, &executor),
       "aclnnConvolutionBackwardGetWorkspaceSize");
  void* workspace = nullptr;
  if (workspace_bytes > 0) Must(aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  Must(aclnnConvolutionBackward(workspace, workspace_bytes, executor, stream), "aclnnConvolutionBackward");

  // 4. Wait, then read the results.
  Must(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  bool right = true;
  // Each pixel collects the kernel's elements that were laid on it; each kernel element, the pixels it was laid on.
  right &= Show("gradInput", grad_input_data, {1, 11, 10, 101, 1111, 1010, 100, 1100, 1000});
  right &= Show("gradWeight", grad_weight_data, {1 + 2 + 4 + 5, 2 + 3 + 5 + 6, 4 + 5 + 7 + 8, 5 + 6 + 8 + 9});
  right &= Show("gradBias", grad_bias_data, {4});

  // 5. Give everything back.
  for (aclTensor* tensor : {grad_output, input, weight, grad_input, grad_weight, grad_bias}) aclDestroyTensor(tensor);
  for (aclIntArray* array : {stride, padding, dilation, output_padding, bias_sizes}) aclDestroyIntArray(array);
  aclDestroyBoolArray(output_mask);
  for (void* data : {grad_output_data, input_data, weight_data, grad_input_data, grad_weight_data, grad_bias_data}) {
    aclrtFree(data);
  }
  if (workspace != nullptr) aclrtFree(workspace);
  aclrtDestroyStream(stream);
  aclrtResetDevice(device);
  aclFinalize();
  return right ? 0 : 1;
}
