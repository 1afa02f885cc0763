// SPDX-License-Identifier: Apache-2.0
// Single operators by name, from compiled operator packages. Canopy offers none of it: no function is declared here.
// Operators are called through aclnnop/.
#ifndef CANOPY_ACL_ACL_OP_H_
#define CANOPY_ACL_ACL_OP_H_

#include "acl_base.h"

#endif  // CANOPY_ACL_ACL_OP_H_
