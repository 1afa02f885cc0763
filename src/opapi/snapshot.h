// SPDX-License-Identifier: Apache-2.0
// Copies what a caller's handles hold, once, at the start of phase 1.
#ifndef CANOPY_OPAPI_SNAPSHOT_H_
#define CANOPY_OPAPI_SNAPSHOT_H_

#include "opapi/arguments.h"

namespace canopy::opapi {

// Fill everything but the name. NULL and stale handles are told by the state.
void Take(const aclTensor* handle, TensorArgument* argument);
void Take(const aclIntArray* handle, IntArrayArgument* argument);
void Take(const aclBoolArray* handle, BoolArrayArgument* argument);

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_SNAPSHOT_H_
