// SPDX-License-Identifier: Apache-2.0
#include "conv/plan.h"

#include <cstring>
#include <utility>

namespace canopy::conv {
namespace {

constexpr Computation kAll[] = {kForward, kBackwardData, kBackwardWeights, kBiasFromOutput, kBiasFromInput};

bool Allows(const char* only, const Algorithm& algorithm) {
  if (only == nullptr) return true;
  return std::strcmp(only, kDirect) == 0 ? !algorithm.fast : std::strcmp(only, algorithm.name) == 0;
}

// Plans by the cheapest of those that accept; by the reference only where none does.
PlannedStep PlanStep(const ConvProblem& problem, Computation computation, const char* only,
                     plan::WorkspaceLedger* ledger) {
  PlannedStep planned{computation, nullptr, nullptr, ""};
  plan::WorkspaceLedger booked;
  double least = 0;
  for (int i = 0; i < kAlgorithmCount - 1; ++i) {
    const Algorithm& algorithm = kAlgorithms[i];
    if (!Allows(only, algorithm)) continue;
    const std::string refusal = algorithm.accepts(problem, computation);
    if (!refusal.empty()) {
      planned.refusals.append(planned.refusals.empty() ? "" : "; ").append(algorithm.name).append(": ").append(refusal);
      continue;
    }
    // Each books on a copy, so that the winner need not be made a second time: steps cost more than ledgers.
    plan::WorkspaceLedger trial = *ledger;
    std::unique_ptr<Step> step = algorithm.make_step(problem, computation, &trial);
    const double work = step->Work();
    if (planned.algorithm != nullptr && work >= least) continue;
    planned.algorithm = &algorithm;
    planned.step = std::move(step);
    booked = std::move(trial);
    least = work;
  }
  if (planned.algorithm != nullptr) {
    *ledger = std::move(booked);
    return planned;
  }
  planned.algorithm = &kAlgorithms[kAlgorithmCount - 1];
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
    plan->ledger.StartOver();  // steps run one after another
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
