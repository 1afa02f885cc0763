// SPDX-License-Identifier: Apache-2.0
// The process-wide options that operators read in phase 1.
#ifndef CANOPY_ASCENDCL_PROCESS_OPTIONS_H_
#define CANOPY_ASCENDCL_PROCESS_OPTIONS_H_

#include <cstdint>

#include "base/export.h"

namespace canopy::ascendcl {

// ACL_OPT_DETERMINISTIC as aclrtSetSysParamOpt left it; 0 when never set.
CANOPY_EXPORT int64_t DeterministicLevel() noexcept;

// aclrtSetDeviceSatMode of the current device: true when results saturate instead of becoming Inf or NaN.
CANOPY_EXPORT bool SaturationMode() noexcept;

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_PROCESS_OPTIONS_H_
