// SPDX-License-Identifier: Apache-2.0
#include "conv/plan.h"

#include <cstring>

namespace canopy::conv {
namespace {

constexpr Computation kAll[] = {kForward, kBackwardData, kBackwardWeights, kBiasFromOutput, kBiasFromInput};

PlannedStep PlanStep(const ConvProblem& problem, Computation computation, const char* only,
                     plan::WorkspaceLedger* ledger) {
  PlannedStep planned{computation, nullptr, nullptr, ""};
  for (int i = 0; i < kAlgorithmCount; ++i) {
    const Algorithm& algorithm = kAlgorithms[i];
    const bool last = i == kAlgorithmCount - 1;
    if (only != nullptr && !last && std::strcmp(only, algorithm.name) != 0) continue;
    const std::string refusal = algorithm.accepts(problem, computation);
    if (refusal.empty()) {
      planned.algorithm = &algorithm;
      planned.step = algorithm.make_step(problem, computation, ledger);
      return planned;
    }
    planned.refusals += std::string(algorithm.name) + ": " + refusal + "; ";
  }
  return planned;  // not reached: the reference accepts everything
}

}  // namespace

std::unique_ptr<Plan> BuildPlan(const ConvProblem& problem, const char* only) {
  auto plan = std::make_unique<Plan>();
  plan->problem = problem;
  double work = 0;
  for (Computation computation : kAll) {
    if ((problem.computations & computation) == 0) continue;
    plan->steps.push_back(PlanStep(problem, computation, only, &plan->ledger));
    work += plan->steps.back().step->Work();
  }
  plan->small = work < kSerialWork;
  return plan;
}

const char* ComputationName(Computation computation) {
  switch (computation) {
    case kForward:
      return "forward";
    case kBackwardData:
      return "backward data";
    case kBackwardWeights:
      return "backward weights";
    case kBiasFromOutput:
      return "bias gradient";
    case kBiasFromInput:
      return "bias gradient";
  }
  return "";
}

}  // namespace canopy::conv
