// SPDX-License-Identifier: Apache-2.0
#include "bench/latency.h"

#include <gtest/gtest.h>

#include <set>

#include "bench/load.h"

namespace canopy::bench {
namespace {

TEST(Latency, TheTableHasALineForEachStep) {
  EXPECT_EQ(LatencyTable({{"phase 1", {3, 1, 2}}, {"phase 2", {10.126}}}),
            "microseconds                                  10%   median\n"
            "phase 1                                      1.00     2.00\n"
            "phase 2                                     10.13    10.13\n");
}

TEST(Latency, EveryStepOfATinyCallIsTimed) {
  const conv::Call call = LoadCases(kTinyProblem, {}).at(0).call;
  const std::vector<Latency> latencies = MeasureLatencies(call, 3);
  ASSERT_EQ(latencies.size(), 11u);
  for (const Latency& latency : latencies) {
    EXPECT_EQ(latency.microseconds.size(), 3u) << latency.step;
    for (const double microseconds : latency.microseconds) EXPECT_GE(microseconds, 0) << latency.step;
  }
}

TEST(Latency, SimilarProblemsAllDiffer) {
  for (const char* text : {kTinyProblem, "tbc_backward f32 t7 b2 ci2 co2 k3 pad1 math0"}) {
    const conv::Call call = LoadCases(text, {}).at(0).call;
    std::set<std::string> seen{conv::FormatCall(call)};
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(seen.insert(conv::FormatCall(SimilarCall(call, i))).second) << i;
  }
}

}  // namespace
}  // namespace canopy::bench
