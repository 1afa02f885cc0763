// SPDX-License-Identifier: Apache-2.0
// What every operator header needs. The folder level2 holds the same file, for headers that are included from there.
#ifndef OPBASE_COMMON_ACLNN_UTIL_H
#define OPBASE_COMMON_ACLNN_UTIL_H

#define ACLNN_API __attribute__((visibility("default")))

#endif  // OPBASE_COMMON_ACLNN_UTIL_H
