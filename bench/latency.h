// SPDX-License-Identifier: Apache-2.0
// What a call costs besides arithmetic, for calls so small that little else is left: each step of one call timed alone,
// in this process.
#ifndef CANOPY_BENCH_LATENCY_H_
#define CANOPY_BENCH_LATENCY_H_

#include <string>
#include <vector>

#include "conv/call_text.h"

namespace canopy::bench {

// Two images of two channels, 7 by 7, and all three gradients: what is measured where nothing else is asked for.
inline constexpr const char* kTinyProblem = "conv_backward f32 n2 ci2 co2 in7x7 k3 p1";

struct Latency {
  std::string step;
  std::vector<double> microseconds;
};

// Throws std::runtime_error where the library refuses the call. REQUIRES: samples > 0.
std::vector<Latency> MeasureLatencies(const conv::Call& call, int samples);

// Problem `index` of those like `call` that differ from it and from each other. REQUIRES: index >= 0.
conv::Call SimilarCall(conv::Call call, int index);

// A line for each step: its 10th percentile and its median.
std::string LatencyTable(const std::vector<Latency>& latencies);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_LATENCY_H_
