// SPDX-License-Identifier: Apache-2.0
// Facts about the emulated chip beyond what acl_rt.h tells. Canopy offers none of it: no function is declared here.
#ifndef CANOPY_ACL_ACL_PLATFORM_H_
#define CANOPY_ACL_ACL_PLATFORM_H_

#include "acl_base.h"

#endif  // CANOPY_ACL_ACL_PLATFORM_H_
