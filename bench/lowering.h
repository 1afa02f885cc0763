// SPDX-License-Identifier: Apache-2.0
// A call in the engine's terms, by the same rules as the operators use. The bench times the public library; for what
// that does not show it asks its own copy of the same engine, whose plans are a function of the problem, the processor
// and the number of threads only.
#ifndef CANOPY_BENCH_LOWERING_H_
#define CANOPY_BENCH_LOWERING_H_

#include <array>
#include <string>

#include "conv/call_text.h"
#include "conv/problem.h"

namespace canopy::bench {

// Where each tensor of a call begins: its element (0, 0, ...); nullptr where there is none.
using Addresses = std::array<char*, conv::kCallTensors>;

struct Lowering {
  conv::ConvProblem problem;  // no computations: nothing to compute
  conv::Buffers buffers;      // the addresses in their roles
};

// REQUIRES: phase 1 accepts the call.
Lowering LowerCall(const conv::Call& call, const Addresses& addresses);

struct PlanText {
  std::string algorithms;  // names, comma separated, one for each computation
  std::string whole;       // blocking, partition, workspace
};

PlanText DescribePlan(const conv::Call& call);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_LOWERING_H_
