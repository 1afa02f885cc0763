// SPDX-License-Identifier: Apache-2.0
// Extensions of the runtime for kernels that a program launches itself. Canopy offers none of it: no function is
// declared here.
#ifndef CANOPY_ACL_ACL_RT_API_H_
#define CANOPY_ACL_ACL_RT_API_H_

#include "acl_rt.h"

#endif  // CANOPY_ACL_ACL_RT_API_H_
