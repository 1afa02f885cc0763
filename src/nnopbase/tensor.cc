// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

#include "aclnn/acl_meta.h"
#include "base/log.h"
#include "nnopbase/refuse.h"
#include "nnopbase/tables.h"
#include "nnopbase/tensor_view.h"
#include "opdev/op_errno.h"

namespace canopy::nnopbase {
namespace {

// The arguments that aclCreateTensor and aclInitTensor share.
struct Description {
  const int64_t* view_dims;
  uint64_t view_rank;
  aclDataType dtype;
  const int64_t* strides;
  int64_t offset;
  aclFormat format;
  const int64_t* storage_dims;
  uint64_t storage_rank;
  void* data;
};

// Extents are whatever the caller passed and are judged by the operators. A stride past the range becomes the greatest
// number, so that no sum of reaches can pass for small.
bool SetContiguousStrides(const Dims& dims, Dims* strides) {
  int64_t* out = strides->Reset(dims.size());
  if (out == nullptr) return false;
  int64_t stride = 1;
  for (uint64_t i = dims.size(); i-- > 0;) {
    out[i] = stride;
    if (__builtin_mul_overflow(stride, dims[i], &stride)) stride = std::numeric_limits<int64_t>::max();
  }
  return true;
}

// A log that cannot be opened loses the warning.
void WarnOfPrivateFormat(aclFormat format) noexcept try {
  switch (format) {
    case ACL_FORMAT_NC1HWC0:
    case ACL_FORMAT_FRACTAL_Z:
    case ACL_FORMAT_NC1HWC0_C04:
    case ACL_FORMAT_FRACTAL_NZ:
    case ACL_FORMAT_NDC1HWC0:
    case ACL_FRACTAL_Z_3D:
    case ACL_FORMAT_FRACTAL_NZ_C0_16:
    case ACL_FORMAT_FRACTAL_NZ_C0_32:
    case ACL_FORMAT_FRACTAL_NZ_C0_2:
    case ACL_FORMAT_FRACTAL_NZ_C0_4:
    case ACL_FORMAT_FRACTAL_NZ_C0_8:
      base::Log(base::LogLevel::kWarning, "tensor has private format %d; operators take public formats only", format);
      break;
    default:
      break;
  }
} catch (const std::bad_alloc&) {
}

// 0, 161001 or 561103; on failure `tensor` is worthless.
aclnnStatus Describe(const char* function, const Description& from, Tensor* tensor) {
  if (from.view_dims == nullptr && from.view_rank > 0) {
    return RefuseNull(function, "viewDims", ACLNN_ERR_PARAM_NULLPTR);
  }
  if (from.storage_dims == nullptr && from.storage_rank > 0) {
    return RefuseNull(function, "storageDims", ACLNN_ERR_PARAM_NULLPTR);
  }
  const bool copied = tensor->view_dims.Assign(from.view_dims, from.view_rank) &&
                      tensor->storage_dims.Assign(from.storage_dims, from.storage_rank) &&
                      (from.strides != nullptr ? tensor->strides.Assign(from.strides, from.view_rank)
                                               : SetContiguousStrides(tensor->view_dims, &tensor->strides));
  if (!copied) {
    return Refuse(ACLNN_ERR_INNER_NULLPTR, "%s: no memory for a tensor of viewDimsNum %llu and storageDimsNum %llu.",
                  function, static_cast<unsigned long long>(from.view_rank),
                  static_cast<unsigned long long>(from.storage_rank));
  }
  tensor->offset = from.offset;
  tensor->dtype = from.dtype;
  tensor->format = from.format;
  tensor->data = from.data;
  WarnOfPrivateFormat(from.format);
  return ACLNN_SUCCESS;
}

// Visits a caller's tensor; 161001 for NULL, 161002 for what is no living tensor.
template <typename Use>
aclnnStatus UseTensor(const char* function, const aclTensor* tensor, Use&& use) {
  if (tensor == nullptr) return RefuseNull(function, "tensor", ACLNN_ERR_PARAM_NULLPTR);
  if (tensors.Visit(tensor, use)) return ACLNN_SUCCESS;
  return RefuseHandle(function, "tensor", tensor, HandleKind::kTensor, ACLNN_ERR_PARAM_INVALID);
}

// Hands one of the tensor's lists out as an array that the caller frees with delete[].
aclnnStatus CopyOut(const char* function, const aclTensor* tensor, Dims Tensor::*member, int64_t** values,
                    uint64_t* count) {
  if (values == nullptr || count == nullptr) {
    return RefuseNull(function, values == nullptr ? "the array's address" : "the length's address",
                      ACLNN_ERR_PARAM_NULLPTR);
  }
  int64_t* copy = nullptr;
  uint64_t size = 0;
  const aclnnStatus status = UseTensor(function, tensor, [&](const Tensor& t) {
    size = (t.*member).size();
    copy = new (std::nothrow) int64_t[size];
    if (copy != nullptr) std::copy_n((t.*member).data(), size, copy);
  });
  if (status != ACLNN_SUCCESS) return status;
  if (copy == nullptr) {
    return Refuse(ACLNN_ERR_INNER_NULLPTR, "%s: no memory for a copy of %llu extents.", function,
                  static_cast<unsigned long long>(size));
  }
  *values = copy;
  *count = size;
  return ACLNN_SUCCESS;
}

// Hands one of the tensor's plain properties out.
template <typename T>
aclnnStatus CopyOut(const char* function, const aclTensor* tensor, T Tensor::*member, T* value, const char* argument) {
  if (value == nullptr) return RefuseNull(function, argument, ACLNN_ERR_PARAM_NULLPTR);
  return UseTensor(function, tensor, [&](const Tensor& t) { *value = t.*member; });
}

}  // namespace

bool ReadTensor(const aclTensor* handle, TensorView* view) noexcept {
  return tensors.Visit(handle, [view](const Tensor& t) {
    view->dtype = t.dtype;
    view->format = t.format;
    view->rank = static_cast<int64_t>(t.view_dims.size());
    const uint64_t kept = std::min<uint64_t>(t.view_dims.size(), kMaxRank);
    std::copy_n(t.view_dims.data(), kept, view->dims.begin());
    std::copy_n(t.strides.data(), kept, view->strides.begin());
    view->offset = t.offset;
    view->data = t.data;
  });
}

}  // namespace canopy::nnopbase

using canopy::nnopbase::CopyOut;
using canopy::nnopbase::Tensor;
using canopy::nnopbase::tensors;

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t* stride,
                           int64_t offset, aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                           void* tensorData) {
  Tensor tensor;
  if (canopy::nnopbase::Describe(
          "aclCreateTensor",
          {viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum, tensorData},
          &tensor) != ACLNN_SUCCESS) {
    return nullptr;
  }
  aclTensor* handle = tensors.Insert(std::move(tensor));
  if (handle == nullptr) canopy::nnopbase::Refuse(ACLNN_ERR_INNER_NULLPTR, "aclCreateTensor: no memory for a handle.");
  return handle;
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  Tensor object;
  if (tensor == nullptr || tensors.Take(tensor, &object)) return ACLNN_SUCCESS;
  return canopy::nnopbase::RefuseHandle("aclDestroyTensor", "tensor", tensor, tensors.kind, ACLNN_ERR_PARAM_INVALID);
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                          const int64_t* stride, int64_t offset, aclFormat format, const int64_t* storageDims,
                          uint64_t storageDimsNum, void* tensorDataAddr) {
  if (tensor == nullptr) {
    return canopy::nnopbase::RefuseNull("aclInitTensor", "tensor", ACLNN_ERR_PARAM_NULLPTR);
  }
  Tensor fresh;
  const aclnnStatus status = canopy::nnopbase::Describe(
      "aclInitTensor",
      {viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum, tensorDataAddr}, &fresh);
  if (status != ACLNN_SUCCESS) return status;
  return canopy::nnopbase::UseTensor("aclInitTensor", tensor, [&fresh](Tensor& t) { std::swap(t, fresh); });
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  return CopyOut("aclGetViewShape", tensor, &Tensor::view_dims, viewDims, viewDimsNum);
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
  return CopyOut("aclGetStorageShape", tensor, &Tensor::storage_dims, storageDims, storageDimsNum);
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
  return CopyOut("aclGetViewStrides", tensor, &Tensor::strides, stridesValue, stridesNum);
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  return CopyOut("aclGetViewOffset", tensor, &Tensor::offset, offset, "offset");
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  return CopyOut("aclGetFormat", tensor, &Tensor::format, format, "format");
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  return CopyOut("aclGetDataType", tensor, &Tensor::dtype, dataType, "dataType");
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  return CopyOut("aclGetRawTensorAddr", tensor, &Tensor::data, addr, "addr");
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  return canopy::nnopbase::UseTensor("aclSetRawTensorAddr", tensor, [addr](Tensor& t) { t.data = addr; });
}
