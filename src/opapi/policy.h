// SPDX-License-Identifier: Apache-2.0
// What the environment asks phase 1 to be strict about: CANOPY_LIMITS=documented, CANOPY_CHECK=device.
#ifndef CANOPY_OPAPI_POLICY_H_
#define CANOPY_OPAPI_POLICY_H_

#include "opapi/rule.h"

namespace canopy::opapi {

// Both are read once a process; an unknown value is a warning in the log and counts as unset.
const Policy& CurrentPolicy();
bool OnlyDeviceMemory();

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_POLICY_H_
