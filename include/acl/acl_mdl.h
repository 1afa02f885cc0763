// SPDX-License-Identifier: Apache-2.0
// Models: loading, describing and executing offline graphs. Canopy offers none of it: no function is declared here.
#ifndef CANOPY_ACL_ACL_MDL_H_
#define CANOPY_ACL_ACL_MDL_H_

#include "acl_base.h"
#include "acl_rt.h"

#endif  // CANOPY_ACL_ACL_MDL_H_
