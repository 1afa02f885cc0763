// SPDX-License-Identifier: Apache-2.0
#include "tools/call_phases.h"

#include <algorithm>

#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"

namespace canopy::tools {

CallHandles::Handle<aclTensor> CallHandles::MakeTensor(const TensorSpec& spec, void* data) {
  if (!spec.present) return nullptr;
  // Strided views say how much storage there is, as framework adapters do.
  const Extents storage = !spec.storage.empty()                      ? spec.storage
                          : spec.strides.empty() && spec.offset == 0 ? spec.shape
                                                                     : Extents{StorageElements(spec)};
  Handle<aclTensor> tensor(aclCreateTensor(spec.shape.data(), spec.shape.size(), spec.dtype,
                                           spec.strides.empty() ? nullptr : spec.strides.data(), spec.offset,
                                           spec.format, storage.data(), storage.size(), data));
  if (tensor == nullptr) throw RuntimeFailure("aclCreateTensor gave a null tensor: " + RecentMessage());
  return tensor;
}

CallHandles::Handle<aclIntArray> CallHandles::MakeArray(const std::optional<Extents>& values) {
  if (!values) return nullptr;
  return Handle<aclIntArray>(aclCreateIntArray(values->data(), values->size()));
}

CallHandles::Handle<aclBoolArray> CallHandles::MakeMask(const std::optional<std::vector<bool>>& mask) {
  if (!mask) return nullptr;
  const std::unique_ptr<bool[]> values(new bool[mask->size()]);
  std::copy(mask->begin(), mask->end(), values.get());
  return Handle<aclBoolArray>(aclCreateBoolArray(values.get(), mask->size()));
}

CallHandles::CallHandles(const Case& a_case, const Storages& storages) : case_(a_case) {
  for (int i = 0; i < kCallTensors; ++i) tensors_[i] = MakeTensor(a_case.tensors[i], storages[i].get());
  const Attributes& a = a_case.attributes;
  bias_sizes_ = MakeArray(a.bias_sizes);
  stride_ = MakeArray(a.stride);
  padding_ = MakeArray(a.padding);
  dilation_ = MakeArray(a.dilation);
  output_padding_ = MakeArray(a.output_padding);
  kernel_size_ = MakeArray(a.kernel_size);
  mask_ = MakeMask(a.mask);
}

aclnnStatus CallHandles::Phase1(uint64_t* workspace_bytes, aclOpExecutor** executor) const {
  using T = CallTensor;
  const Attributes& a = case_.attributes;
  const int8_t math = static_cast<int8_t>(a.cube_math_type);
  switch (case_.op) {
    case CallOp::kConvBackward:
      return aclnnConvolutionBackwardGetWorkspaceSize(
          get(T::kGradOutput), get(T::kInput), get(T::kWeight), bias_sizes_.get(), stride_.get(), padding_.get(),
          dilation_.get(), a.transposed, output_padding_.get(), static_cast<int>(a.groups), mask_.get(), math,
          get(T::kGradInput), get(T::kGradWeight), get(T::kGradBias), workspace_bytes, executor);
    case CallOp::kTbcBackward:
      return aclnnConvTbcBackwardGetWorkspaceSize(get(T::kGradOutput), get(T::kInput), get(T::kWeight), get(T::kBias),
                                                  a.pad, math, get(T::kGradInput), get(T::kGradWeight),
                                                  get(T::kGradBias), workspace_bytes, executor);
    case CallOp::kConvForward:
      return aclnnConvolutionGetWorkspaceSize(get(T::kInput), get(T::kWeight), get(T::kBias), stride_.get(),
                                              padding_.get(), dilation_.get(), a.transposed, output_padding_.get(),
                                              a.groups, get(T::kOutput), math, workspace_bytes, executor);
    case CallOp::kTbcForward:
      return aclnnConvTbcGetWorkspaceSize(get(T::kInput), get(T::kWeight), get(T::kBias), a.pad, get(T::kOutput), math,
                                          workspace_bytes, executor);
    case CallOp::kDepthwiseForward:
      return aclnnConvDepthwise2dGetWorkspaceSize(get(T::kInput), get(T::kWeight), kernel_size_.get(), get(T::kBias),
                                                  stride_.get(), padding_.get(), dilation_.get(), get(T::kOutput), math,
                                                  workspace_bytes, executor);
  }
  return -1;
}

aclnnStatus Phase2(CallOp op, void* workspace, uint64_t bytes, aclOpExecutor* executor, aclrtStream stream) {
  switch (op) {
    case CallOp::kConvBackward:
      return aclnnConvolutionBackward(workspace, bytes, executor, stream);
    case CallOp::kTbcBackward:
      return aclnnConvTbcBackward(workspace, bytes, executor, stream);
    case CallOp::kConvForward:
      return aclnnConvolution(workspace, bytes, executor, stream);
    case CallOp::kTbcForward:
      return aclnnConvTbc(workspace, bytes, executor, stream);
    case CallOp::kDepthwiseForward:
      return aclnnConvDepthwise2d(workspace, bytes, executor, stream);
  }
  return -1;
}

}  // namespace canopy::tools
