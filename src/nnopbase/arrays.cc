// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "aclnn/acl_meta.h"
#include "nnopbase/refuse.h"
#include "nnopbase/tables.h"
#include "nnopbase/tensor_view.h"
#include "opdev/op_errno.h"

namespace canopy::nnopbase {
namespace {

template <typename Handle, typename T, HandleKind kKind>
Handle* Create(const char* function, HandleTable<Handle, Array<T>, kKind>& table, const T* value, uint64_t size) {
  Array<T> array;
  Handle* handle = nullptr;
  if (array.Assign(value, value != nullptr ? size : 0)) handle = table.Insert(std::move(array));
  if (handle == nullptr) {
    Refuse(ACLNN_ERR_INNER_NULLPTR, "%s: no memory for an array of size %llu.", function,
           static_cast<unsigned long long>(size));
  }
  return handle;
}

template <typename Handle, typename T, HandleKind kKind>
aclnnStatus Destroy(const char* function, HandleTable<Handle, Array<T>, kKind>& table, const Handle* handle) {
  Array<T> object;
  if (handle == nullptr || table.Take(handle, &object)) return ACLNN_SUCCESS;
  return RefuseHandle(function, "array", handle, kKind, ACLNN_ERR_PARAM_INVALID);
}

template <typename Handle, typename T, HandleKind kKind>
aclnnStatus Size(const char* function, HandleTable<Handle, Array<T>, kKind>& table, const Handle* handle,
                 uint64_t* size) {
  if (handle == nullptr) return RefuseNull(function, "array", ACLNN_ERR_PARAM_NULLPTR);
  if (size == nullptr) return RefuseNull(function, "size", ACLNN_ERR_PARAM_NULLPTR);
  if (table.Visit(handle, [size](const Array<T>& array) { *size = array.size(); })) return ACLNN_SUCCESS;
  return RefuseHandle(function, "array", handle, kKind, ACLNN_ERR_PARAM_INVALID);
}

template <typename Handle, typename T, HandleKind kKind, typename View>
bool Read(HandleTable<Handle, Array<T>, kKind>& table, const Handle* handle, View* view) {
  return table.Visit(handle, [view](const Array<T>& array) {
    view->size = array.size();
    std::copy_n(array.data(), std::min<uint64_t>(array.size(), kMaxArray), view->values.begin());
  });
}

}  // namespace

bool ReadIntArray(const aclIntArray* handle, IntArrayView* view) noexcept { return Read(int_arrays, handle, view); }

bool ReadBoolArray(const aclBoolArray* handle, BoolArrayView* view) noexcept { return Read(bool_arrays, handle, view); }

}  // namespace canopy::nnopbase

namespace nnopbase = canopy::nnopbase;

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return nnopbase::Create("aclCreateIntArray", nnopbase::int_arrays, value, size);
}

aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  return nnopbase::Create("aclCreateFloatArray", nnopbase::float_arrays, value, size);
}

aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  return nnopbase::Create("aclCreateBoolArray", nnopbase::bool_arrays, value, size);
}

aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
  return nnopbase::Destroy("aclDestroyIntArray", nnopbase::int_arrays, array);
}

aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
  return nnopbase::Destroy("aclDestroyFloatArray", nnopbase::float_arrays, array);
}

aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
  return nnopbase::Destroy("aclDestroyBoolArray", nnopbase::bool_arrays, array);
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return nnopbase::Size("aclGetIntArraySize", nnopbase::int_arrays, array, size);
}

aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return nnopbase::Size("aclGetFloatArraySize", nnopbase::float_arrays, array, size);
}

aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return nnopbase::Size("aclGetBoolArraySize", nnopbase::bool_arrays, array, size);
}
