// SPDX-License-Identifier: Apache-2.0
// How this library says no: a status code and, under aclGetRecentErrMsg, the sentence that explains it.
#ifndef CANOPY_NNOPBASE_REFUSE_H_
#define CANOPY_NNOPBASE_REFUSE_H_

#include <string_view>

#include "aclnn/acl_meta.h"
#include "nnopbase/handle.h"

namespace canopy::nnopbase {

// Files the sentence and returns `code`.
aclnnStatus RefuseInWords(aclnnStatus code, std::string_view text) noexcept;

// The same, printf style; cut after some 500 characters.
__attribute__((format(printf, 2, 3))) aclnnStatus Refuse(aclnnStatus code, const char* format, ...) noexcept;

// For an argument that must not be NULL.
aclnnStatus RefuseNull(const char* function, const char* argument, aclnnStatus code) noexcept;

// For a handle that is no living one of `expected`.
aclnnStatus RefuseHandle(const char* function, const char* argument, const void* handle, HandleKind expected,
                         aclnnStatus code) noexcept;

}  // namespace canopy::nnopbase

#endif  // CANOPY_NNOPBASE_REFUSE_H_
