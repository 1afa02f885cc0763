// SPDX-License-Identifier: Apache-2.0
#include "tests/opapi/api_call.h"

#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"

namespace canopy::tests {
namespace {

using opapi::Handle;

// The visible values and, behind them, ones up to the true length.
template <class Values>
std::vector<int64_t> Lengthened(const Values& values, int64_t length) {
  std::vector<int64_t> all(values.begin(), values.end());
  all.resize(static_cast<size_t>(length), 1);
  return all;
}

}  // namespace

Handles::Handles(const ArgumentTable& table) {
  for (const opapi::TensorArgument* tensor : table.tensors) AddTensor(*tensor);
  for (const opapi::IntArrayArgument* array : table.int_arrays) AddArray(*array);
  if (table.mask != nullptr) AddMask(*table.mask);
}

Handles::~Handles() {
  for (aclTensor* tensor : living_tensors_) aclDestroyTensor(tensor);
  for (aclIntArray* array : living_arrays_) aclDestroyIntArray(array);
  if (mask_lives_) aclDestroyBoolArray(mask_);
}

void Handles::AddTensor(const opapi::TensorArgument& argument) {
  aclTensor*& handle = tensors_[argument.name];
  if (argument.state == Handle::kNull) return;
  const nnopbase::TensorView& view = argument.view;
  const std::vector<int64_t> dims = Lengthened(view.dims, view.rank), strides = Lengthened(view.strides, view.rank);
  handle = aclCreateTensor(dims.data(), dims.size(), view.dtype, strides.data(), view.offset, view.format, dims.data(),
                           dims.size(), nullptr);
  if (argument.state == Handle::kStale) {
    aclDestroyTensor(handle);
  } else {
    living_tensors_.push_back(handle);
  }
}

void Handles::AddArray(const opapi::IntArrayArgument& argument) {
  aclIntArray*& handle = int_arrays_[argument.name];
  if (argument.state == Handle::kNull) return;
  const std::vector<int64_t> values = Lengthened(argument.view.values, argument.size());
  handle = aclCreateIntArray(values.data(), values.size());
  if (argument.state == Handle::kStale) {
    aclDestroyIntArray(handle);
  } else {
    living_arrays_.push_back(handle);
  }
}

void Handles::AddMask(const opapi::BoolArrayArgument& argument) {
  if (argument.state == Handle::kNull) return;
  mask_ = aclCreateBoolArray(argument.view.values.data(), argument.view.size);
  mask_lives_ = argument.state == Handle::kRead;
  if (!mask_lives_) aclDestroyBoolArray(mask_);
}

aclnnStatus PhaseOneOf(opapi::convolution_backward::Arguments* a, uint64_t* workspace_size, aclOpExecutor** executor) {
  const Handles h(TableOf(a));
  return aclnnConvolutionBackwardGetWorkspaceSize(
      h.tensor(a->grad_output), h.tensor(a->input), h.tensor(a->weight), h.array(a->bias_sizes), h.array(a->stride),
      h.array(a->padding), h.array(a->dilation), a->transposed, h.array(a->output_padding), static_cast<int>(a->groups),
      h.mask(), static_cast<int8_t>(a->cube_math_type), h.tensor(a->grad_input), h.tensor(a->grad_weight),
      h.tensor(a->grad_bias), workspace_size, executor);
}

aclnnStatus PhaseOneOf(opapi::conv_tbc_backward::Arguments* a, uint64_t* workspace_size, aclOpExecutor** executor) {
  const Handles h(TableOf(a));
  return aclnnConvTbcBackwardGetWorkspaceSize(h.tensor(a->self), h.tensor(a->input), h.tensor(a->weight),
                                              h.tensor(a->bias), a->pad, static_cast<int8_t>(a->cube_math_type),
                                              h.tensor(a->grad_input), h.tensor(a->grad_weight), h.tensor(a->grad_bias),
                                              workspace_size, executor);
}

aclnnStatus PhaseOneOf(opapi::convolution::Arguments* a, uint64_t* workspace_size, aclOpExecutor** executor) {
  const Handles h(TableOf(a));
  return aclnnConvolutionGetWorkspaceSize(h.tensor(a->input), h.tensor(a->weight), h.tensor(a->bias),
                                          h.array(a->stride), h.array(a->padding), h.array(a->dilation), a->transposed,
                                          h.array(a->output_padding), a->groups, h.tensor(a->output),
                                          static_cast<int8_t>(a->cube_math_type), workspace_size, executor);
}

aclnnStatus PhaseOneOf(opapi::conv_tbc::Arguments* a, uint64_t* workspace_size, aclOpExecutor** executor) {
  const Handles h(TableOf(a));
  return aclnnConvTbcGetWorkspaceSize(h.tensor(a->self), h.tensor(a->weight), h.tensor(a->bias), a->pad,
                                      h.tensor(a->output), static_cast<int8_t>(a->cube_math_type), workspace_size,
                                      executor);
}

aclnnStatus PhaseOneOf(opapi::conv_depthwise2d::Arguments* arguments, uint64_t* workspace_size,
                       aclOpExecutor** executor) {
  const opapi::convolution::Arguments* a = &arguments->convolution;
  const Handles h(TableOf(arguments));
  return aclnnConvDepthwise2dGetWorkspaceSize(h.tensor(a->input), h.tensor(a->weight), h.array(arguments->kernel_size),
                                              h.tensor(a->bias), h.array(a->stride), h.array(a->padding),
                                              h.array(a->dilation), h.tensor(a->output),
                                              static_cast<int8_t>(a->cube_math_type), workspace_size, executor);
}

}  // namespace canopy::tests
