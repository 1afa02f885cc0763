// SPDX-License-Identifier: Apache-2.0
// The process-wide options that operators can read.
#ifndef CANOPY_ASCENDCL_PROCESS_OPTIONS_H_
#define CANOPY_ASCENDCL_PROCESS_OPTIONS_H_

#include <cstdint>

#include "base/export.h"

namespace canopy::ascendcl {

// ACL_OPT_DETERMINISTIC as aclrtSetSysParamOpt left it; 0 when never set.
CANOPY_EXPORT int64_t DeterministicLevel() noexcept;

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_PROCESS_OPTIONS_H_
