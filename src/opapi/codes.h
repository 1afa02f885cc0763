// SPDX-License-Identifier: Apache-2.0
// The status codes that rules give.
#ifndef CANOPY_OPAPI_CODES_H_
#define CANOPY_OPAPI_CODES_H_

#include "opdev/op_errno.h"

namespace canopy::opapi {

inline constexpr int kNullPointer = ACLNN_ERR_PARAM_NULLPTR;
inline constexpr int kInvalid = ACLNN_ERR_PARAM_INVALID;
inline constexpr int kUnsupportedSize =
    ACLNN_ERR_INNER_NULLPTR;  // 561103 is how CANN reports sizes it has no kernel for

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_CODES_H_
