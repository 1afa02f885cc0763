// SPDX-License-Identifier: Apache-2.0
#include "conv/plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace canopy::conv {
namespace {

bool Allows(const char* only, const Algorithm& algorithm) {
  if (only == nullptr) return true;
  return std::strcmp(only, kDirect) == 0 ? !algorithm.fast : std::strcmp(only, algorithm.name) == 0;
}

// Plans by the cheapest of those that accept; by the reference only where none does.
PlannedStep PlanStep(const ConvProblem& problem, Computation computation, const char* only,
                     plan::WorkspaceLedger* ledger) {
  PlannedStep planned{computation, nullptr, nullptr};
  plan::WorkspaceLedger booked;
  double least = 0;
  for (int i = 0; i < kAlgorithmCount - 1; ++i) {
    const Algorithm& algorithm = kAlgorithms[i];
    if (!Allows(only, algorithm) || !algorithm.accepts(problem, computation).empty()) continue;
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

// What one step may serve together: results of which each reads the output, or the input.
constexpr uint8_t kJointSets[] = {kBackwardData | kBackwardWeights | kBiasFromOutput, kBackwardData | kBackwardWeights,
                                  kBackwardWeights | kBiasFromOutput, kBackwardData | kBiasFromOutput,
                                  kBackwardWeights | kBiasFromInput};

double WorkOf(const std::vector<PlannedStep>& steps, uint8_t computations) {
  double work = 0;
  for (const PlannedStep& planned : steps) work += (planned.computations & computations) ? planned.step->Work() : 0;
  return work;
}

bool AnyReference(const std::vector<PlannedStep>& steps, uint8_t computations) {
  return std::any_of(steps.begin(), steps.end(), [&](const PlannedStep& planned) {
    return (planned.computations & computations) != 0 && planned.algorithm == &kAlgorithms[kAlgorithmCount - 1];
  });
}

// One step for each computation of `computations`, one after another.
void AddSteps(const ConvProblem& problem, uint8_t computations, const char* only, Plan* plan) {
  for (const Computation computation : kAllComputations) {
    if ((computations & computation) == 0) continue;
    plan->ledger.StartOver();
    plan->steps.push_back(PlanStep(problem, computation, only, &plan->ledger));
  }
}

// The joint algorithm with the least work, its step and what that books; `algorithm` is nullptr where none accepts.
PlannedStep PlanJointStep(const ConvProblem& problem, uint8_t set, const char* only, plan::WorkspaceLedger* ledger) {
  PlannedStep planned{set, nullptr, nullptr};
  for (int i = 0; i < kAlgorithmCount - 1; ++i) {
    const Algorithm& algorithm = kAlgorithms[i];
    const Computation joint = static_cast<Computation>(set);
    if (!algorithm.joint || !Allows(only, algorithm) || !algorithm.accepts(problem, joint).empty()) continue;
    plan::WorkspaceLedger trial;
    std::unique_ptr<Step> step = algorithm.make_step(problem, joint, &trial);
    if (planned.algorithm != nullptr && step->Work() >= planned.step->Work()) continue;
    planned.algorithm = &algorithm;
    planned.step = std::move(step);
    *ledger = std::move(trial);
  }
  return planned;
}

// Puts one step in the place of those of a set of computations where it is less work.
void JoinSteps(const ConvProblem& problem, const char* only, Plan* plan) {
  for (const uint8_t set : kJointSets) {
    if ((problem.computations & set) != set) continue;
    plan::WorkspaceLedger ledger;
    PlannedStep joint = PlanJointStep(problem, set, only, &ledger);
    if (joint.algorithm == nullptr) continue;
    if (!AnyReference(plan->steps, set) && joint.step->Work() >= WorkOf(plan->steps, set)) continue;
    plan->ledger = std::move(ledger);
    plan->steps.clear();
    plan->steps.push_back(std::move(joint));
    return AddSteps(problem, problem.computations & ~set, only, plan);
  }
}

}  // namespace

std::unique_ptr<Plan> BuildPlan(const ConvProblem& problem, const char* only) {
  auto plan = std::make_unique<Plan>();
  plan->problem = problem;
  plan->only = only;
  AddSteps(problem, problem.computations, only, plan.get());
  JoinSteps(problem, only, plan.get());
  plan->work = WorkOf(plan->steps, problem.computations);
  return plan;
}

std::string Refusals(const Plan& plan, const PlannedStep& planned) {
  const auto computation = static_cast<Computation>(planned.computations & -planned.computations);
  std::string refusals;
  for (int i = 0; i < kAlgorithmCount - 1; ++i) {
    const Algorithm& algorithm = kAlgorithms[i];
    if (!Allows(plan.only, algorithm)) continue;
    const std::string_view refusal = algorithm.accepts(plan.problem, computation);
    if (refusal.empty()) continue;
    refusals.append(refusals.empty() ? "" : "; ").append(algorithm.name).append(": ").append(refusal);
  }
  return refusals;
}

std::string ComputationNames(uint8_t computations) {
  std::string names;
  const auto add = [&](int computation, const char* name) {
    if ((computations & computation) != 0) names.append(names.empty() ? "" : ", ").append(name);
  };
  add(kForward, "forward");
  add(kBackwardData, "backward data");
  add(kBackwardWeights, "backward weights");
  add(kBiasFromOutput | kBiasFromInput, "bias gradient");
  return names;
}

}  // namespace canopy::conv
