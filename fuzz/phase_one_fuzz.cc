// SPDX-License-Identifier: Apache-2.0
// Phase 1 of every operator with arbitrary arguments. A consistent call is drawn first and then damaged: extents,
// strides, offsets, types, tags, attribute lengths and values, handles that are null, destroyed or of another kind.
// Promises: no crash, no other code than the documented ones, a message for every refusal, and on refusal neither the
// workspace size nor the executor is touched.
#include <fuzzer/FuzzedDataProvider.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"
#include "conv/call_text.h"
#include "fuzz/fuzz.h"

namespace {

using canopy::conv::Call;
using canopy::conv::CallOp;
using canopy::conv::CallTensor;
using Extents = std::vector<int64_t>;

enum class HandleKind { kGood, kNull, kDestroyed, kOtherKind, kForeign };

struct TensorArguments {
  Extents dims, strides;  // no strides: NULL is passed
  Extents storage;
  int64_t offset = 0;
  aclDataType dtype = ACL_FLOAT;
  aclFormat format = ACL_FORMAT_ND;
  HandleKind kind = HandleKind::kGood;
};

struct ArrayArguments {
  Extents values;
  HandleKind kind = HandleKind::kGood;
};

enum Array { kBiasSizes, kStride, kPadding, kDilation, kOutputPadding, kKernelSize, kArrays };

struct Arguments {
  CallOp op = CallOp::kConvBackward;
  std::array<TensorArguments, canopy::conv::kCallTensors> tensors;
  std::array<ArrayArguments, kArrays> arrays;
  std::vector<uint8_t> mask;
  HandleKind mask_kind = HandleKind::kGood;
  bool transposed = false;
  int64_t groups = 1, pad = 0;
  int8_t math = 0;
  bool null_size = false, null_executor = false;
};

int64_t DrawValue(FuzzedDataProvider* in) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kNotable[] = {0,         1,         -1,        2,         3,         kMax,
                                  kMin,      kMax / 2,  INT32_MAX, INT32_MIN, 1LL << 31, 1LL << 32,
                                  1LL << 33, 1LL << 62, 65536,     1000003,   kMax - 1,  -(1LL << 32)};
  switch (in->ConsumeIntegralInRange(0, 3)) {
    case 0:
      return in->PickValueInArray(kNotable);
    case 1:
      return in->ConsumeIntegral<int64_t>();
    default:
      return in->ConsumeIntegralInRange<int64_t>(-2, 20);
  }
}

Extents DrawAxes(FuzzedDataProvider* in, size_t axes, int64_t low, int64_t high) {
  Extents values(axes);
  for (int64_t& value : values) value = in->ConsumeIntegralInRange(low, high);
  return values;
}

Call DrawCall(FuzzedDataProvider* in) {
  Call call;
  call.op = static_cast<CallOp>(in->ConsumeIntegralInRange(0, 4));
  const bool tbc = call.op == CallOp::kTbcBackward || call.op == CallOp::kTbcForward;
  const bool depthwise = call.op == CallOp::kDepthwiseForward;
  const size_t axes = tbc ? 1 : depthwise ? 2 : in->ConsumeIntegralInRange<size_t>(1, 3);
  call.transposed = !tbc && !depthwise && in->ConsumeBool();
  call.groups = tbc ? 1 : in->ConsumeIntegralInRange<int64_t>(1, 3);
  call.batch = in->ConsumeIntegralInRange<int64_t>(0, 3);
  call.input_channels = call.groups * in->ConsumeIntegralInRange<int64_t>(depthwise ? 1 : 0, depthwise ? 1 : 3);
  call.output_channels = call.groups * in->ConsumeIntegralInRange<int64_t>(0, 3);
  call.input_size = DrawAxes(in, axes, 0, 9);
  call.kernel = DrawAxes(in, axes, 0, 4);
  call.stride = DrawAxes(in, axes, 1, tbc ? 1 : 3);
  call.dilation = DrawAxes(in, axes, 1, tbc ? 1 : 3);
  call.padding = DrawAxes(in, axes == 2 && !depthwise && in->ConsumeBool() ? 4 : axes, 0, 4);
  call.output_padding = DrawAxes(in, axes, 0, call.transposed ? 1 : 0);
  call.has_bias = tbc || in->ConsumeBool();
  call.math = in->ConsumeIntegralInRange(0, 3);
  return call;
}

Arguments ArgumentsOf(const Call& call, FuzzedDataProvider* in) {
  const bool tbc = call.op == CallOp::kTbcBackward || call.op == CallOp::kTbcForward;
  constexpr aclDataType kTypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
  const aclDataType dtype = in->PickValueInArray(kTypes);
  Arguments arguments;
  arguments.op = call.op;
  for (int i = 0; i < canopy::conv::kCallTensors; ++i) {
    const CallTensor tensor = static_cast<CallTensor>(i);
    TensorArguments& a = arguments.tensors[i];
    if (!canopy::conv::CallHasTensor(call, tensor)) {
      a.kind = HandleKind::kNull;
      continue;
    }
    a.dims = canopy::conv::CallShape(call, tensor);
    a.dtype = dtype;
    a.format = tbc || a.dims.size() == 1 ? ACL_FORMAT_ND
               : a.dims.size() == 3      ? ACL_FORMAT_NCL
               : a.dims.size() == 4      ? ACL_FORMAT_NCHW
                                         : ACL_FORMAT_NCDHW;
    a.storage = a.dims;
  }
  arguments.arrays[kBiasSizes].values = {call.output_channels};
  arguments.arrays[kStride].values = call.stride;
  arguments.arrays[kPadding].values = call.padding;
  arguments.arrays[kDilation].values = call.dilation;
  arguments.arrays[kOutputPadding].values = call.output_padding;
  arguments.arrays[kKernelSize].values = call.kernel;
  arguments.mask = {1, 1, 1};
  arguments.transposed = call.transposed;
  arguments.groups = call.groups;
  arguments.pad = call.padding[0];
  arguments.math = static_cast<int8_t>(call.math);
  return arguments;
}

HandleKind DrawKind(FuzzedDataProvider* in) { return static_cast<HandleKind>(in->ConsumeIntegralInRange(0, 4)); }

void DamageExtents(FuzzedDataProvider* in, Extents* values) {
  if (in->ConsumeIntegralInRange(0, 4) == 0 || values->empty()) {
    values->resize(in->ConsumeIntegralInRange<size_t>(0, 20), 1);
  } else {
    (*values)[in->ConsumeIntegralInRange<size_t>(0, values->size() - 1)] = DrawValue(in);
  }
}

void DamageTensor(FuzzedDataProvider* in, TensorArguments* tensor) {
  switch (in->ConsumeIntegralInRange(0, 7)) {
    case 0:
      tensor->dtype = static_cast<aclDataType>(in->ConsumeIntegralInRange(-2, 60));
      break;
    case 1:
      tensor->format = static_cast<aclFormat>(in->ConsumeIntegralInRange(-2, 60));
      break;
    case 2:
      tensor->kind = DrawKind(in);
      break;
    case 3:
      tensor->offset = DrawValue(in);
      break;
    case 4:
      tensor->strides.assign(tensor->dims.size(), 1);
      for (int64_t& stride : tensor->strides) stride = DrawValue(in);
      break;
    case 5:
      DamageExtents(in, &tensor->storage);
      break;
    default:
      DamageExtents(in, &tensor->dims);
      if (!tensor->strides.empty()) tensor->strides.resize(tensor->dims.size(), 1);
  }
}

void Damage(FuzzedDataProvider* in, Arguments* arguments) {
  switch (in->ConsumeIntegralInRange(0, 9)) {
    case 0:
      arguments->groups = DrawValue(in);
      break;
    case 1:
      arguments->pad = DrawValue(in);
      break;
    case 2:
      arguments->math = in->ConsumeIntegral<int8_t>();
      break;
    case 3:
      arguments->mask.assign(in->ConsumeIntegralInRange<size_t>(0, 20), in->ConsumeBool());
      break;
    case 4:
      arguments->mask_kind = DrawKind(in);
      break;
    case 5:
      arguments->null_size = in->ConsumeBool();
      arguments->null_executor = in->ConsumeBool();
      break;
    case 6:
    case 7: {
      ArrayArguments& array = arguments->arrays[in->ConsumeIntegralInRange<size_t>(0, kArrays - 1)];
      if (in->ConsumeBool()) {
        array.kind = DrawKind(in);
      } else {
        DamageExtents(in, &array.values);
      }
      break;
    }
    default:
      DamageTensor(in, &arguments->tensors[in->ConsumeIntegralInRange<size_t>(0, arguments->tensors.size() - 1)]);
  }
}

// Live handles of one input, and what stands in for bad ones.
class Handles {
 public:
  ~Handles() {
    for (const aclTensor* tensor : tensors_) aclDestroyTensor(tensor);
    for (const aclIntArray* array : arrays_) aclDestroyIntArray(array);
    for (const aclBoolArray* array : masks_) aclDestroyBoolArray(array);
  }

  aclTensor* Tensor(const TensorArguments& a) {
    if (a.kind != HandleKind::kGood && a.kind != HandleKind::kDestroyed) return static_cast<aclTensor*>(Bad(a.kind));
    aclTensor* tensor =
        aclCreateTensor(a.dims.data(), a.dims.size(), a.dtype, a.strides.empty() ? nullptr : a.strides.data(), a.offset,
                        a.format, a.storage.data(), a.storage.size(), data_);
    if (a.kind == HandleKind::kDestroyed) {
      aclDestroyTensor(tensor);
    } else {
      tensors_.push_back(tensor);
    }
    return tensor;
  }

  aclIntArray* IntArray(const ArrayArguments& a) {
    if (a.kind != HandleKind::kGood && a.kind != HandleKind::kDestroyed) return static_cast<aclIntArray*>(Bad(a.kind));
    aclIntArray* array = aclCreateIntArray(a.values.data(), a.values.size());
    if (a.kind == HandleKind::kDestroyed) {
      aclDestroyIntArray(array);
    } else {
      arrays_.push_back(array);
    }
    return array;
  }

  aclBoolArray* Mask(const std::vector<uint8_t>& values, HandleKind kind) {
    if (kind != HandleKind::kGood && kind != HandleKind::kDestroyed) return static_cast<aclBoolArray*>(Bad(kind));
    const std::unique_ptr<bool[]> copy(new bool[values.size() + 1]());
    for (size_t i = 0; i < values.size(); ++i) copy[i] = values[i] != 0;
    aclBoolArray* array = aclCreateBoolArray(copy.get(), values.size());
    if (kind == HandleKind::kDestroyed) {
      aclDestroyBoolArray(array);
    } else {
      masks_.push_back(array);
    }
    return array;
  }

 private:
  // A handle of a kind that no operator takes, memory that is no handle, or nothing.
  void* Bad(HandleKind kind) {
    if (kind == HandleKind::kNull) return nullptr;
    if (kind == HandleKind::kForeign) return junk_;
    const float value = 1;
    static aclFloatArray* const other = aclCreateFloatArray(&value, 1);
    return other;
  }

  std::vector<const aclTensor*> tensors_;
  std::vector<const aclIntArray*> arrays_;
  std::vector<const aclBoolArray*> masks_;
  alignas(64) inline static unsigned char data_[64];  // never read: nothing runs
  alignas(64) inline static unsigned char junk_[512] = {0xFF, 0x01, 0x80};
};

struct Outcome {
  aclnnStatus status = 0;
  uint64_t size = 0x5A5A5A5A5A5A5A5A;
  aclOpExecutor* executor = nullptr;
};

Outcome PhaseOne(const Arguments& a, Handles* handles) {
  std::array<aclTensor*, canopy::conv::kCallTensors> t;
  for (size_t i = 0; i < t.size(); ++i) t[i] = handles->Tensor(a.tensors[i]);
  std::array<aclIntArray*, kArrays> v;
  for (size_t i = 0; i < v.size(); ++i) v[i] = handles->IntArray(a.arrays[i]);
  const auto tensor = [&t](CallTensor which) { return t[static_cast<size_t>(which)]; };
  Outcome o;
  o.executor = reinterpret_cast<aclOpExecutor*>(&o);  // recognisable
  uint64_t* size = a.null_size ? nullptr : &o.size;
  aclOpExecutor** executor = a.null_executor ? nullptr : &o.executor;
  switch (a.op) {
    case CallOp::kConvBackward:
      o.status = aclnnConvolutionBackwardGetWorkspaceSize(
          tensor(CallTensor::kGradOutput), tensor(CallTensor::kInput), tensor(CallTensor::kWeight), v[kBiasSizes],
          v[kStride], v[kPadding], v[kDilation], a.transposed, v[kOutputPadding], static_cast<int>(a.groups),
          handles->Mask(a.mask, a.mask_kind), a.math, tensor(CallTensor::kGradInput), tensor(CallTensor::kGradWeight),
          tensor(CallTensor::kGradBias), size, executor);
      break;
    case CallOp::kTbcBackward:
      o.status = aclnnConvTbcBackwardGetWorkspaceSize(
          tensor(CallTensor::kGradOutput), tensor(CallTensor::kInput), tensor(CallTensor::kWeight),
          tensor(CallTensor::kBias), a.pad, a.math, tensor(CallTensor::kGradInput), tensor(CallTensor::kGradWeight),
          tensor(CallTensor::kGradBias), size, executor);
      break;
    case CallOp::kConvForward:
      o.status = aclnnConvolutionGetWorkspaceSize(
          tensor(CallTensor::kInput), tensor(CallTensor::kWeight), tensor(CallTensor::kBias), v[kStride], v[kPadding],
          v[kDilation], a.transposed, v[kOutputPadding], a.groups, tensor(CallTensor::kOutput), a.math, size, executor);
      break;
    case CallOp::kTbcForward:
      o.status = aclnnConvTbcGetWorkspaceSize(tensor(CallTensor::kInput), tensor(CallTensor::kWeight),
                                              tensor(CallTensor::kBias), a.pad, tensor(CallTensor::kOutput), a.math,
                                              size, executor);
      break;
    case CallOp::kDepthwiseForward:
      o.status = aclnnConvDepthwise2dGetWorkspaceSize(
          tensor(CallTensor::kInput), tensor(CallTensor::kWeight), v[kKernelSize], tensor(CallTensor::kBias),
          v[kStride], v[kPadding], v[kDilation], tensor(CallTensor::kOutput), a.math, size, executor);
      break;
  }
  if (o.executor == reinterpret_cast<aclOpExecutor*>(&o)) o.executor = nullptr;
  return o;
}

void CheckOutcome(const Outcome& o) {
  const char* message = aclGetRecentErrMsg();
  const std::string text = std::to_string(o.status) + ": " + (message == nullptr ? "no message" : message);
  if (o.status != 0) {
    CANOPY_PROMISE(o.status == 161001 || o.status == 161002 || o.status == 561101 || o.status == 561103, text);
    CANOPY_PROMISE(message != nullptr && message[0] != '\0', text);
    CANOPY_PROMISE(o.size == 0x5A5A5A5A5A5A5A5A && o.executor == nullptr, text);
    return;
  }
  CANOPY_PROMISE(message == nullptr, text);
  CANOPY_PROMISE(o.size != 0x5A5A5A5A5A5A5A5A && o.executor != nullptr, text);
  CANOPY_PROMISE(aclDestroyAclOpExecutor(o.executor) == 0, text);
  CANOPY_PROMISE(aclDestroyAclOpExecutor(o.executor) != 0, "an executor was destroyed twice");
  aclGetRecentErrMsg();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  CANOPY_PROMISE(aclInit(nullptr) == 0 && aclrtSetDevice(0) == 0, "set-up");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider in(data, size);
  Arguments arguments = ArgumentsOf(DrawCall(&in), &in);
  for (int edits = in.ConsumeIntegralInRange(0, 4); edits > 0; --edits) Damage(&in, &arguments);
  aclGetRecentErrMsg();
  Handles handles;
  CheckOutcome(PhaseOne(arguments, &handles));
  aclGetRecentErrMsg();
  return 0;
}
