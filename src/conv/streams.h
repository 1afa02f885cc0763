// SPDX-License-Identifier: Apache-2.0
// Results that are written past the caches. A line of memory that is written by ordinary stores is read first, a third
// of the traffic of a computation that reads two tensors once and writes a third; what is written past the caches is
// not, but whoever reads it next reads memory. That is no loss where it would have left the caches meanwhile.
#ifndef CANOPY_CONV_STREAMS_H_
#define CANOPY_CONV_STREAMS_H_

#include <cstdint>

#include "conv/problem.h"

namespace canopy::conv {

// Whether `computations` (an OR of Computation) over the problem's activations leave little of them in the last-level
// cache: together they are more than half of it, for it serves other cores, too, and results push operands out.
bool OutgrowsCaches(const ConvProblem& problem, uint8_t computations);

// Whether they leave none of it: more than nine tenths. What computes little for each number loses more by results that
// must come back from memory than by operands that some of them push out.
bool FillsCaches(const ConvProblem& problem, uint8_t computations);

// Whether a core gets little from the last-level cache: on processors with a matrix unit it reads 28 GB/s, a fourth of
// what others do.
bool L3IsSlow();

// Whether they are more than four times what a core's second-level cache holds.
bool OutgrowsL2s(const ConvProblem& problem, uint8_t computations);

// Whether the result of forward or backward data should leave past a slow L3: reading its lines first takes longer
// there than bringing back from memory what does not stay in the L2s anyway.
bool ResultPassesL3(const ConvProblem& problem, Computation computation);

// Rows of a result that leave past the caches.
enum class StreamedRows : uint8_t { kNone, kOfWholeLines, kAll };

// Which should past a slow L3. Where rows begin or end within lines of memory, these are written by parts and read
// first as ever, and what is whole between them is worth that only in results twice as large.
StreamedRows RowsPastL3(const ConvProblem& problem, Computation computation);

// Whether rows of `count` floats each, `stride` apart, the first one at `at`, are among those.
bool Streams(StreamedRows which, const float* at, int64_t count, int64_t stride);

// Whether they fill the caches and results should leave past these even by way of a copy, which completes their lines.
// It is worth its time on Zen 4; Zen 5 takes as long as with ordinary stores, or longer.
bool CopyPastCaches(const ConvProblem& problem, uint8_t computations);

// Whether the weights' gradient, with the weights where the call reads these, leaves little of anything in it: more
// than half.
bool WeightsOutgrowCaches(const ConvProblem& problem);

// While it lives, every computation does both, or none. For tests: it changes the whole process; what was planned
// before stays as it is.
class ScopedStreams {
 public:
  explicit ScopedStreams(bool use);
  ~ScopedStreams();
  ScopedStreams(const ScopedStreams&) = delete;
  ScopedStreams& operator=(const ScopedStreams&) = delete;
};

}  // namespace canopy::conv

#endif  // CANOPY_CONV_STREAMS_H_
