// SPDX-License-Identifier: Apache-2.0
// One clock for everything that waits or is timed.
#ifndef CANOPY_ASCENDCL_CLOCK_H_
#define CANOPY_ASCENDCL_CLOCK_H_

#include <chrono>
#include <cstdint>
#include <limits>

namespace canopy::ascendcl {

using Clock = std::chrono::steady_clock;

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

inline int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

// REQUIRES: ns != kNever.
inline Clock::time_point TimePoint(int64_t ns) { return Clock::time_point(std::chrono::nanoseconds(ns)); }

// The moment `milliseconds` from now; kNever for a negative number.
inline int64_t DeadlineAfter(int64_t milliseconds) {
  return milliseconds < 0 ? kNever : NowNs() + milliseconds * 1'000'000;
}

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_CLOCK_H_
