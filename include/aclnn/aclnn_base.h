// SPDX-License-Identifier: Apache-2.0
// Setting the operator libraries up and down. Neither call is required before operators are used.
#ifndef CANOPY_ACLNN_ACLNN_BASE_H_
#define CANOPY_ACLNN_ACLNN_BASE_H_

#ifdef __cplusplus
#include <cstdint>
#include <cstdlib>
#else
#include <stdint.h>
#include <stdlib.h>
#endif

#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

// Always succeeds, any number of times. `configPath` may be NULL and has no effect.
ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char *configPath);
// Always succeeds. Handles stay usable.
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif

#endif  // CANOPY_ACLNN_ACLNN_BASE_H_
