// SPDX-License-Identifier: Apache-2.0
// Tensor data transfer queues. Canopy offers none of it: no function is declared here.
#ifndef CANOPY_ACL_ACL_TDT_QUEUE_H_
#define CANOPY_ACL_ACL_TDT_QUEUE_H_

#include "acl_base.h"
#include "acl_tdt.h"

#endif  // CANOPY_ACL_ACL_TDT_QUEUE_H_
