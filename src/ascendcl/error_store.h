// SPDX-License-Identifier: Apache-2.0
// The inside of error_message.h: where texts wait until aclGetRecentErrMsg fetches them.
#ifndef CANOPY_ASCENDCL_ERROR_STORE_H_
#define CANOPY_ASCENDCL_ERROR_STORE_H_

#include <string>

namespace canopy::ascendcl {

// err_msg_mode: one store a thread (the default) or one for the process.
void KeepErrorsPerProcess(bool per_process) noexcept;

// This thread's texts, newest first, which it then forgets. May throw bad_alloc.
std::string TakeErrors();

// Files texts that TakeErrors gave in another thread: what failed on a stream is told to whoever waits for it.
void RefileErrors(std::string&& texts) noexcept;

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_ERROR_STORE_H_
