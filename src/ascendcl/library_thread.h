// SPDX-License-Identifier: Apache-2.0
// Threads of the library's own, which leave the program's signals to the program's threads.
#ifndef CANOPY_ASCENDCL_LIBRARY_THREAD_H_
#define CANOPY_ASCENDCL_LIBRARY_THREAD_H_

#include <functional>
#include <thread>

namespace canopy::ascendcl {

// nullptr where the system has no thread to give.
std::thread* StartLibraryThread(std::function<void()> body) noexcept;

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_LIBRARY_THREAD_H_
