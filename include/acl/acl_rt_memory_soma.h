// SPDX-License-Identifier: Apache-2.0
// Allocation in stream order. Canopy offers none of it: no function is declared here.
#ifndef CANOPY_ACL_ACL_RT_MEMORY_SOMA_H_
#define CANOPY_ACL_ACL_RT_MEMORY_SOMA_H_

#include "acl_rt.h"

#endif  // CANOPY_ACL_ACL_RT_MEMORY_SOMA_H_
