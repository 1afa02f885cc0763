// SPDX-License-Identifier: Apache-2.0
// The border between C and the library: nothing thrown crosses it, and every failure leaves its code, its text and the
// thread's last error.
#ifndef CANOPY_ASCENDCL_BOUNDARY_H_
#define CANOPY_ASCENDCL_BOUNDARY_H_

#include <new>

#include "acl/acl_rt.h"
#include "base/status.h"

namespace canopy::ascendcl {

// Files "<function>: <message>" and remembers the code as the thread's last error. Returns the code.
aclError Report(const char* function, int code, const char* message) noexcept;

// A refusal with a printf-style text.
__attribute__((format(printf, 2, 3))) base::Status Refuse(int code, const char* format, ...);

inline base::Status RefuseNull(const char* argument) {
  return Refuse(ACL_ERROR_INVALID_PARAM, "%s is a null pointer; an address is needed", argument);
}

// What a C function returns for `body`, which returns a base::Status.
template <typename Body>
aclError Boundary(const char* function, Body&& body) noexcept {
  try {
    const base::Status status = body();
    return status.ok() ? ACL_SUCCESS : Report(function, status.code(), status.message().c_str());
  } catch (const std::bad_alloc&) {
    return Report(function, ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host memory");
  } catch (...) {
    return Report(function, ACL_ERROR_INTERNAL_ERROR, "unexpected failure inside the library");
  }
}

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_BOUNDARY_H_
