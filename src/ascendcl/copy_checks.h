// SPDX-License-Identifier: Apache-2.0
// What all copies check of their arguments.
#ifndef CANOPY_ASCENDCL_COPY_CHECKS_H_
#define CANOPY_ASCENDCL_COPY_CHECKS_H_

#include <cstddef>

#include "base/status.h"

namespace canopy::ascendcl {

base::Status CheckPointers(const void* dst, const void* src);

// 100000 for a kind outside of [lowest, highest]. Otherwise the kind is a hint and not looked at.
base::Status CheckKind(int kind, int lowest, int highest);

// 107000 where `count` bytes do not fit.
base::Status CheckFits(const char* count_name, size_t count, const char* room_name, size_t room);

// Memory that the library knows nothing of: the program may free or change it as soon as a call returns.
bool IsPlainHostMemory(const void* address);

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_COPY_CHECKS_H_
