// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_ASCENDCL_SATURATION_H_
#define CANOPY_ASCENDCL_SATURATION_H_

#include "ascendcl/runtime.h"

namespace canopy::ascendcl {

// Whether streams made on the device now saturate: as aclrtSetDeviceSatMode says, else as the chip usually does.
// REQUIRES the runtime's lock.
bool Saturates(const Device& device);

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_SATURATION_H_
