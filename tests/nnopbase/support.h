// SPDX-License-Identifier: Apache-2.0
// What the tests of handles share.
#ifndef CANOPY_TESTS_NNOPBASE_SUPPORT_H_
#define CANOPY_TESTS_NNOPBASE_SUPPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

namespace canopy::nnopbase {

inline constexpr aclnnStatus kNullPointer = 161001;
inline constexpr aclnnStatus kInvalid = 161002;
inline constexpr aclnnStatus kRuntimeError = 361001;
inline constexpr aclnnStatus kInner = 561000;
inline constexpr aclnnStatus kInnerNull = 561103;

// The thread's filed messages, which this clears; "" when there is none.
inline std::string TakeMessages() {
  const char* text = aclGetRecentErrMsg();
  return text != nullptr ? text : "";
}

inline bool Mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline aclTensor* MakeTensor(const std::vector<int64_t>& dims, void* data = nullptr) {
  return aclCreateTensor(dims.data(), dims.size(), ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims.data(), dims.size(),
                         data);
}

// Something that is no handle: an object of the program's own.
template <typename Handle>
Handle* Foreign() {
  static int64_t object[64] = {};
  return reinterpret_cast<Handle*>(object);
}

}  // namespace canopy::nnopbase

#endif  // CANOPY_TESTS_NNOPBASE_SUPPORT_H_
