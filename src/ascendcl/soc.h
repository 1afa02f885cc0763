// SPDX-License-Identifier: Apache-2.0
// The emulated chip, as the runtime's functions need it.
#ifndef CANOPY_ASCENDCL_SOC_H_
#define CANOPY_ASCENDCL_SOC_H_

#include "base/status.h"

namespace canopy::ascendcl {

// 507008 where CANOPY_SOC names no known chip, with a list of those that it may name.
base::Status CheckSoc();

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_SOC_H_
