// SPDX-License-Identifier: Apache-2.0
// What every acl header needs: basic types and error codes.
#ifndef CANOPY_ACL_ACL_BASE_H_
#define CANOPY_ACL_ACL_BASE_H_

#include "acl_base_mdl.h"
#include "acl_base_rt.h"
#include "error_codes/ge_error_codes.h"
#include "error_codes/rt_error_codes.h"

#endif  // CANOPY_ACL_ACL_BASE_H_
