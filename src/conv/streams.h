// SPDX-License-Identifier: Apache-2.0
// Results that are written past the caches. A line of memory that is written by ordinary stores is read first, a third
// of the traffic of a computation that reads two tensors once and writes a third; what is written past the caches is
// not, but whoever reads it next reads memory. That is no loss where it would have left the caches meanwhile.
#ifndef CANOPY_CONV_STREAMS_H_
#define CANOPY_CONV_STREAMS_H_

#include <cstdint>

namespace canopy::conv {

// Whether a computation over tensors of so many bytes in all leaves nothing of them in the last-level cache.
bool OutgrowsCaches(int64_t bytes);

// While it lives, every computation does, or none. For tests: it changes the whole process; what was planned before
// stays as it is.
class ScopedStreams {
 public:
  explicit ScopedStreams(bool use);
  ~ScopedStreams();
  ScopedStreams(const ScopedStreams&) = delete;
  ScopedStreams& operator=(const ScopedStreams&) = delete;
};

}  // namespace canopy::conv

#endif  // CANOPY_CONV_STREAMS_H_
