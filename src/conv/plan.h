// SPDX-License-Identifier: Apache-2.0
// A plan as a value: which algorithm serves each wanted computation, and where each finds its workspace. A pure
// function of the problem, the CPU's facts and the number of threads; no user pointer is in it.
#ifndef CANOPY_CONV_PLAN_H_
#define CANOPY_CONV_PLAN_H_

#include <memory>
#include <string>
#include <vector>

#include "conv/algorithm.h"
#include "conv/problem.h"
#include "plan/workspace_ledger.h"

namespace canopy::conv {

struct PlannedStep {
  uint8_t computations;  // OR of Computation: several where one pass serves them
  const Algorithm* algorithm = nullptr;
  std::unique_ptr<Step> step{};
  plan::WorkspaceLedger ledger{};  // of its own: steps run one after another, in the same place
};

class Plan {
 public:
  int64_t workspace_bytes() const;
  bool overflowed() const;

  ConvProblem problem;
  std::vector<PlannedStep> steps;
  double work = 0;             // of all steps, in the units of Step::Work
  const char* only = nullptr;  // what the algorithms were restricted to
};

// As `only` below: every algorithm but the fast ones.
inline constexpr char kDirect[] = "direct";

// Plans without the cache. `only` restricts the list to the algorithm of that name, or to kDirect (nullptr: the whole
// list), and outlives the plan; the reference stays as the fallback.
std::unique_ptr<Plan> BuildPlan(const ConvProblem& problem, const char* only);

// Why algorithms did not serve a step of the plan, or its first computation; empty where none refused.
std::string Refusals(const Plan& plan, const PlannedStep& planned);

// "backward data", or "backward data, backward weights" of several.
std::string ComputationNames(uint8_t computations);

}  // namespace canopy::conv

#endif  // CANOPY_CONV_PLAN_H_
