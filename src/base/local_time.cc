// SPDX-License-Identifier: Apache-2.0
#include "base/local_time.h"

#include <mutex>

namespace canopy::base {
namespace {

constinit std::mutex mutex;

}  // namespace

LocalTimeText::LocalTimeText(std::time_t seconds) {
  const std::lock_guard guard(mutex);
  std::tm parts;
  localtime_r(&seconds, &parts);
  std::strftime(text, sizeof(text), "%Y-%m-%d-%H:%M:%S", &parts);
}

void LockLocalTime() { mutex.lock(); }
void UnlockLocalTime() { mutex.unlock(); }

}  // namespace canopy::base
