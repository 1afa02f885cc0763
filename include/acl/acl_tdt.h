// SPDX-License-Identifier: Apache-2.0
// Tensor data transfer channels. Canopy offers none of it: no function is declared here.
#ifndef CANOPY_ACL_ACL_TDT_H_
#define CANOPY_ACL_ACL_TDT_H_

#include "acl_base.h"

#endif  // CANOPY_ACL_ACL_TDT_H_
