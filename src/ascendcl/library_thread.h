// SPDX-License-Identifier: Apache-2.0
// Threads of the library's own, which leave the program's signals to the program's threads.
#ifndef CANOPY_ASCENDCL_LIBRARY_THREAD_H_
#define CANOPY_ASCENDCL_LIBRARY_THREAD_H_

#include <pthread.h>

namespace canopy::ascendcl {

// Runs body(argument) in a new thread, to be joined or detached by the caller. False where the system has no thread to
// give.
bool StartLibraryThread(void* (*body)(void*), void* argument, pthread_t* thread) noexcept;

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_LIBRARY_THREAD_H_
