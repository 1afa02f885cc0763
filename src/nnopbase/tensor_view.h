// SPDX-License-Identifier: Apache-2.0
// What an operator reads of its arguments. Phase 1 copies every tensor and array into these plain structs and nothing
// is read through a caller's handle afterwards.
#ifndef CANOPY_NNOPBASE_TENSOR_VIEW_H_
#define CANOPY_NNOPBASE_TENSOR_VIEW_H_

#include <array>
#include <cstdint>

#include "aclnn/acl_meta.h"
#include "base/export.h"

namespace canopy::nnopbase {

inline constexpr int kMaxRank = 8;  // operators take at most 5

struct TensorView {
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  int64_t rank = 0;                         // may exceed kMaxRank; then only the first kMaxRank extents are here
  std::array<int64_t, kMaxRank> dims{};     // view shape
  std::array<int64_t, kMaxRank> strides{};  // elements; derived where the caller passed none
  int64_t offset = 0;                       // elements from data to the first view element
  void* data = nullptr;                     // storage base

  // Some extent is 0. REQUIRES: rank <= kMaxRank.
  bool empty() const {
    for (int64_t i = 0; i < rank && i < kMaxRank; ++i) {
      if (dims[i] == 0) return true;
    }
    return false;
  }
};

inline constexpr int kMaxArray = 16;  // operators take at most 4 entries

struct IntArrayView {
  uint64_t size = 0;  // true length; at most the first kMaxArray values are here
  std::array<int64_t, kMaxArray> values{};
};

struct BoolArrayView {
  uint64_t size = 0;
  std::array<bool, kMaxArray> values{};
};

// False: not a live handle of this library (stale or foreign). REQUIRES: handle is not nullptr.
CANOPY_EXPORT bool ReadTensor(const aclTensor* handle, TensorView* view) noexcept;
CANOPY_EXPORT bool ReadIntArray(const aclIntArray* handle, IntArrayView* view) noexcept;
CANOPY_EXPORT bool ReadBoolArray(const aclBoolArray* handle, BoolArrayView* view) noexcept;

}  // namespace canopy::nnopbase

#endif  // CANOPY_NNOPBASE_TENSOR_VIEW_H_
