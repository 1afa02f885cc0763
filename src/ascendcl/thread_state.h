// SPDX-License-Identifier: Apache-2.0
// What belongs to a thread: its current context, its last error. Plain data without a destructor, because destructors
// of the program may call the library when the thread's other objects are gone.
#ifndef CANOPY_ASCENDCL_THREAD_STATE_H_
#define CANOPY_ASCENDCL_THREAD_STATE_H_

#include "acl/acl_base.h"

namespace canopy::ascendcl {

struct Stream;

struct ThreadState {
  aclrtContext context = nullptr;        // may be stale: look it up
  aclrtStream limits_stream = nullptr;   // aclrtUseStreamResInCurrentThread; may be stale
  const Stream* calling_back = nullptr;  // whose host callback this thread is inside of
  aclError last_error = ACL_SUCCESS;
};

ThreadState& CurrentThread() noexcept;

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_THREAD_STATE_H_
