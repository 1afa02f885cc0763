// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_ASCENDCL_DEVICE_SYNC_H_
#define CANOPY_ASCENDCL_DEVICE_SYNC_H_

#include "base/status.h"

namespace canopy::ascendcl {

// What aclrtSynchronizeDevice does.
base::Status SynchronizeCurrentDevice();

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_DEVICE_SYNC_H_
