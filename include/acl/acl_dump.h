// SPDX-License-Identifier: Apache-2.0
// Dumping the tensors of operators and models. Canopy offers none of it: no function is declared here.
#ifndef CANOPY_ACL_ACL_DUMP_H_
#define CANOPY_ACL_ACL_DUMP_H_

#include "acl_base.h"

#endif  // CANOPY_ACL_ACL_DUMP_H_
