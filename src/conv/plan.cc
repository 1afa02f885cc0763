// SPDX-License-Identifier: Apache-2.0
#include "conv/plan.h"

#include <cstring>

namespace canopy::conv {
namespace {

constexpr Computation kAll[] = {kForward, kBackwardData, kBackwardWeights, kBiasFromOutput, kBiasFromInput};

// The cheapest of those that accept; the reference only where none does.
const Algorithm& Choose(const ConvProblem& problem, Computation computation, const char* only, std::string* refusals) {
  const Algorithm* best = nullptr;
  double least = 0;
  for (int i = 0; i < kAlgorithmCount - 1; ++i) {
    const Algorithm& algorithm = kAlgorithms[i];
    if (only != nullptr && std::strcmp(only, algorithm.name) != 0) continue;
    const std::string refusal = algorithm.accepts(problem, computation);
    if (!refusal.empty()) {
      *refusals += std::string(algorithm.name) + ": " + refusal + "; ";
      continue;
    }
    plan::WorkspaceLedger unused;
    const double work = algorithm.make_step(problem, computation, &unused)->Work();
    if (best == nullptr || work < least) {
      best = &algorithm;
      least = work;
    }
  }
  return best != nullptr ? *best : kAlgorithms[kAlgorithmCount - 1];
}

PlannedStep PlanStep(const ConvProblem& problem, Computation computation, const char* only,
                     plan::WorkspaceLedger* ledger) {
  PlannedStep planned{computation, nullptr, nullptr, ""};
  planned.algorithm = &Choose(problem, computation, only, &planned.refusals);
  planned.step = planned.algorithm->make_step(problem, computation, ledger);
  return planned;
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
