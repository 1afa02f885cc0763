// SPDX-License-Identifier: Apache-2.0
// Handles of a program's own memory allocator. The types are named so that declarations compile; registering an
// allocator is not offered: no function is declared here.
#ifndef CANOPY_ACL_ACL_RT_ALLOCATOR_H_
#define CANOPY_ACL_ACL_RT_ALLOCATOR_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void* aclrtAllocator;
typedef void* aclrtAllocatorDesc;
typedef void* aclrtAllocatorBlock;
typedef void* aclrtAllocatorAddr;

#ifdef __cplusplus
}
#endif

#endif  // CANOPY_ACL_ACL_RT_ALLOCATOR_H_
