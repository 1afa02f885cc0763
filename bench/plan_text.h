// SPDX-License-Identifier: Apache-2.0
// What the engine would do with a call. The bench times the public library; this asks its own copy of the same engine,
// whose plans are a function of the problem, the processor and the number of threads only.
#ifndef CANOPY_BENCH_PLAN_TEXT_H_
#define CANOPY_BENCH_PLAN_TEXT_H_

#include <string>

#include "conv/call_text.h"

namespace canopy::bench {

struct PlanText {
  std::string algorithms;  // names, comma separated, one for each computation
  std::string whole;       // blocking, partition, workspace
};

// REQUIRES: phase 1 accepts the call.
PlanText DescribePlan(const conv::Call& call);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_PLAN_TEXT_H_
