// SPDX-License-Identifier: Apache-2.0
// Compiling single operators and its options. Canopy offers none of it: no function is declared here.
#ifndef CANOPY_ACL_ACL_OP_COMPILER_H_
#define CANOPY_ACL_ACL_OP_COMPILER_H_

#include "acl_base.h"
#include "acl_op.h"

#endif  // CANOPY_ACL_ACL_OP_COMPILER_H_
