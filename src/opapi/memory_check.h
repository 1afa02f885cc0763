// SPDX-License-Identifier: Apache-2.0
// A tensor must not reach beyond the block of memory that its data points into.
#ifndef CANOPY_OPAPI_MEMORY_CHECK_H_
#define CANOPY_OPAPI_MEMORY_CHECK_H_

#include "base/status.h"
#include "opapi/arguments.h"

namespace canopy::opapi {

// Tensors without elements or without data pass, and so does memory that no aclrtMalloc handed out, unless
// `only_device`.
// REQUIRES: RequireSaneExtents accepted.
base::Status CheckMemory(const TensorArgument& tensor, bool only_device);

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_MEMORY_CHECK_H_
