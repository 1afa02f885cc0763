// SPDX-License-Identifier: Apache-2.0
#include "tools/runner.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"

namespace canopy::tools {
namespace {

std::string RecentMessage() {
  const char* message = aclGetRecentErrMsg();
  return message == nullptr ? "(no message)" : message;
}

void Require(aclError status, const char* what) {
  if (status == ACL_SUCCESS) return;
  throw RuntimeFailure(std::string(what) + " gave " + std::to_string(status) + ": " + RecentMessage());
}

struct Destroy {
  void operator()(const aclTensor* tensor) const { aclDestroyTensor(tensor); }
  void operator()(const aclIntArray* array) const { aclDestroyIntArray(array); }
  void operator()(const aclBoolArray* array) const { aclDestroyBoolArray(array); }
};
template <typename T>
using Handle = std::unique_ptr<T, Destroy>;

Handle<aclTensor> MakeTensor(const TensorSpec& spec, void* data) {
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

Handle<aclIntArray> MakeArray(const std::optional<Extents>& values) {
  if (!values) return nullptr;
  return Handle<aclIntArray>(aclCreateIntArray(values->data(), values->size()));
}

Handle<aclBoolArray> MakeMask(const std::optional<std::vector<bool>>& mask) {
  if (!mask) return nullptr;
  const std::unique_ptr<bool[]> values(new bool[mask->size()]);
  std::copy(mask->begin(), mask->end(), values.get());
  return Handle<aclBoolArray>(aclCreateBoolArray(values.get(), mask->size()));
}

// The handles of one call. They may go as soon as phase 1 has returned.
struct Arguments {
  Arguments(const Case& a_case, const Storages& storages) {
    for (int i = 0; i < kCallTensors; ++i) tensors[i] = MakeTensor(a_case.tensors[i], storages[i].get());
    const Attributes& a = a_case.attributes;
    bias_sizes = MakeArray(a.bias_sizes);
    stride = MakeArray(a.stride);
    padding = MakeArray(a.padding);
    dilation = MakeArray(a.dilation);
    output_padding = MakeArray(a.output_padding);
    kernel_size = MakeArray(a.kernel_size);
    mask = MakeMask(a.mask);
  }

  aclTensor* get(CallTensor tensor) const { return tensors[static_cast<int>(tensor)].get(); }

  std::array<Handle<aclTensor>, kCallTensors> tensors;
  Handle<aclIntArray> bias_sizes, stride, padding, dilation, output_padding, kernel_size;
  Handle<aclBoolArray> mask;
};

aclnnStatus Phase1(const Case& a_case, const Arguments& args, uint64_t* workspace_bytes, aclOpExecutor** executor) {
  using T = CallTensor;
  const Attributes& a = a_case.attributes;
  const int8_t math = static_cast<int8_t>(a.cube_math_type);
  switch (a_case.op) {
    case CallOp::kConvBackward:
      return aclnnConvolutionBackwardGetWorkspaceSize(
          args.get(T::kGradOutput), args.get(T::kInput), args.get(T::kWeight), args.bias_sizes.get(), args.stride.get(),
          args.padding.get(), args.dilation.get(), a.transposed, args.output_padding.get(), static_cast<int>(a.groups),
          args.mask.get(), math, args.get(T::kGradInput), args.get(T::kGradWeight), args.get(T::kGradBias),
          workspace_bytes, executor);
    case CallOp::kTbcBackward:
      return aclnnConvTbcBackwardGetWorkspaceSize(
          args.get(T::kGradOutput), args.get(T::kInput), args.get(T::kWeight), args.get(T::kBias), a.pad, math,
          args.get(T::kGradInput), args.get(T::kGradWeight), args.get(T::kGradBias), workspace_bytes, executor);
    case CallOp::kConvForward:
      return aclnnConvolutionGetWorkspaceSize(args.get(T::kInput), args.get(T::kWeight), args.get(T::kBias),
                                              args.stride.get(), args.padding.get(), args.dilation.get(), a.transposed,
                                              args.output_padding.get(), a.groups, args.get(T::kOutput), math,
                                              workspace_bytes, executor);
    case CallOp::kTbcForward:
      return aclnnConvTbcGetWorkspaceSize(args.get(T::kInput), args.get(T::kWeight), args.get(T::kBias), a.pad,
                                          args.get(T::kOutput), math, workspace_bytes, executor);
    case CallOp::kDepthwiseForward:
      return aclnnConvDepthwise2dGetWorkspaceSize(
          args.get(T::kInput), args.get(T::kWeight), args.kernel_size.get(), args.get(T::kBias), args.stride.get(),
          args.padding.get(), args.dilation.get(), args.get(T::kOutput), math, workspace_bytes, executor);
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

// The workspace of one run: exactly as large as asked for, nullptr where nothing is.
class Workspace {
 public:
  Workspace(uint64_t bytes, bool odd) : bytes_(bytes), guard_(odd ? kGuard : 0) {
    if (bytes_ == 0) return;
    memory_ = Allocate(bytes_ + 2 * guard_);
    std::memset(memory(), kGuardByte, guard_);
    std::memset(memory() + guard_ + bytes_, kGuardByte, guard_);
  }

  void* address() const { return bytes_ == 0 ? nullptr : memory() + guard_; }

  bool overrun() const {
    if (bytes_ == 0) return false;
    const auto clean = [](unsigned char byte) { return byte == kGuardByte; };
    const unsigned char* behind = memory() + guard_ + bytes_;
    return !std::all_of(memory(), memory() + guard_, clean) || !std::all_of(behind, behind + guard_, clean);
  }

 private:
  static constexpr uint64_t kGuard = 4097;
  static constexpr unsigned char kGuardByte = 0xA5;

  unsigned char* memory() const { return static_cast<unsigned char*>(memory_.get()); }

  uint64_t bytes_, guard_;
  DeviceMemory memory_;
};

}  // namespace

Runtime::Runtime() {
  Require(aclInit(nullptr), "aclInit");
  Require(aclrtSetDevice(0), "aclrtSetDevice(0)");
  Require(aclrtCreateStream(&stream_), "aclrtCreateStream");
}

Runtime::~Runtime() {
  aclrtDestroyStream(stream_);
  aclrtResetDevice(0);
  aclFinalize();
}

DeviceMemory Allocate(uint64_t bytes) {
  void* memory = nullptr;
  Require(aclrtMalloc(&memory, std::max<uint64_t>(bytes, 1), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  return DeviceMemory(memory);
}

Outcome RunCase(const Case& a_case, const Storages& storages, aclrtStream stream, const LaunchOptions& options) {
  Outcome outcome;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    aclOpExecutor* executor = nullptr;
    {
      const Arguments arguments(a_case, storages);
      outcome.phase1 = Phase1(a_case, arguments, &outcome.workspace_bytes, &executor);
    }
    if (outcome.phase1 != 0) {
      outcome.message = RecentMessage();
      return outcome;
    }
    const Workspace workspace(outcome.workspace_bytes, options.odd_workspace);
    if (options.before_phase2) options.before_phase2();
    const auto start = std::chrono::steady_clock::now();
    outcome.phase2 = Phase2(a_case.op, workspace.address(), outcome.workspace_bytes, executor, stream);
    const int synchronised = aclrtSynchronizeStream(stream);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (options.after_synchronise) options.after_synchronise();
    outcome.workspace_overrun |= workspace.overrun();
    if (outcome.phase2 == 0) outcome.phase2 = synchronised;
    if (outcome.phase2 != 0) {
      outcome.message = RecentMessage();
      return outcome;
    }
    outcome.seconds = repeat == 0 ? seconds : std::min(outcome.seconds, seconds);
  }
  return outcome;
}

}  // namespace canopy::tools
