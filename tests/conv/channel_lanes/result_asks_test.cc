// SPDX-License-Identifier: Apache-2.0
#include "conv/channel_lanes/result_asks.h"

#include <gtest/gtest.h>

#include <set>

namespace canopy::conv::channel_lanes {
namespace {

constexpr int64_t kTerms = 200, kStride = 1000, kCount = 300;

// Lines that `calls` calls ask for, counted from the first channel.
std::set<int64_t> AskedLines(int64_t channels, int64_t calls) {
  const float* const first = nullptr;
  const ResultAsks asks(first, channels, kStride, kCount, calls);
  const kernels::GatherRun run{0, 0, kTerms};
  std::set<int64_t> lines;
  for (int64_t call = 0; call < calls; ++call) {
    kernels::GatherOperands operands{};
    operands.runs = &run;
    operands.run_count = 1;
    if (!asks.Assign(call, &operands)) continue;
    const auto from = reinterpret_cast<intptr_t>(operands.ahead);
    for (int64_t term = 0; term < kTerms; ++term) {
      const int64_t stretch = term / operands.ahead_terms, step = term % operands.ahead_terms;
      lines.insert((from + stretch * operands.ahead_row + step * operands.ahead_step) / kernels::kMemoryLine);
    }
  }
  return lines;
}

TEST(ResultAsksTest, EveryLineOfEveryChannel) {
  for (int64_t channels : {1, 7, 48}) {
    for (int64_t calls : {1, 3, 48, 100, 500}) {
      // A line a term: a call alone has no time for all lines of many channels.
      if (channels * kCount * int64_t{sizeof(float)} > calls * kTerms * kernels::kMemoryLine / 2) continue;
      const std::set<int64_t> lines = AskedLines(channels, calls);
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t begin = c * kStride * int64_t{sizeof(float)}, end = begin + kCount * int64_t{sizeof(float)};
        for (int64_t at = begin / kernels::kMemoryLine; at < end / kernels::kMemoryLine; ++at) {
          EXPECT_EQ(lines.count(at), 1u) << "line " << at << " of " << channels << " channels by " << calls << " calls";
        }
      }
    }
  }
}

TEST(ResultAsksTest, OfNothingAreNone) {
  kernels::GatherOperands operands{};
  EXPECT_FALSE(ResultAsks().Assign(0, &operands));
  EXPECT_FALSE(ResultAsks().Assign(5, &operands));
}

}  // namespace
}  // namespace canopy::conv::channel_lanes
