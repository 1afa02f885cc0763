// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/library_thread.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace canopy::ascendcl {

std::thread* StartLibraryThread(std::function<void()> body) noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // a thread inherits the mask
  std::thread* thread = nullptr;
  try {
    thread = new std::thread(std::move(body));
  } catch (...) {  // no memory or no thread: the caller says what that means
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace canopy::ascendcl
