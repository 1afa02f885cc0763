// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/library_thread.h"

#include <signal.h>

namespace canopy::ascendcl {

bool StartLibraryThread(void* (*body)(void*), void* argument, pthread_t* thread) noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // a thread inherits the mask
  const bool started = pthread_create(thread, nullptr, body, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace canopy::ascendcl
