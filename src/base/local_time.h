// SPDX-License-Identifier: Apache-2.0
// Moments in local time, for the log and for messages.
#ifndef CANOPY_BASE_LOCAL_TIME_H_
#define CANOPY_BASE_LOCAL_TIME_H_

#include <ctime>

namespace canopy::base {

// Year to second as in "2026-01-31-23:59:58".
struct LocalTimeText {
  explicit LocalTimeText(std::time_t seconds);
  char text[32];
};

// The C library converts times under a lock that it does not look after in a fork: a child of a moment when another
// thread converted one would wait for ever in its first message. So no thread is in there between these two.
void LockLocalTime();
void UnlockLocalTime();

}  // namespace canopy::base

#endif  // CANOPY_BASE_LOCAL_TIME_H_
