// SPDX-License-Identifier: Apache-2.0
// The tensor description that models and single operators of the graph engine use. The type is named so that
// declarations of a program compile; Canopy runs no graphs, so nothing creates one.
#ifndef CANOPY_ACL_ACL_BASE_MDL_H_
#define CANOPY_ACL_ACL_BASE_MDL_H_

#include "acl_base_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aclTensorDesc aclTensorDesc;

#ifdef __cplusplus
}
#endif

#endif  // CANOPY_ACL_ACL_BASE_MDL_H_
