// SPDX-License-Identifier: Apache-2.0
#include "conv/plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

namespace canopy::conv {
namespace {

bool Allows(const char* only, const Algorithm& algorithm) {
  if (only == nullptr) return true;
  return std::strcmp(only, kDirect) == 0 ? !algorithm.fast : std::strcmp(only, algorithm.name) == 0;
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

class Planner {
 public:
  Planner(const ConvProblem& problem, const char* only)
      : problem_(problem), only_(only), works_(static_cast<size_t>(kAlgorithmCount)) {}

  // One step for each wanted computation, but one for several where that is less work.
  std::vector<PlannedStep> Steps() {
    std::vector<PlannedStep> steps;
    for (const Computation computation : kAllComputations) {
      if ((problem_.computations & computation) != 0) steps.push_back(PlanStep(computation));
    }
    JoinSteps(&steps);
    return steps;
  }

 private:
  // By the cheapest of those that accept; by the reference only where none does.
  PlannedStep PlanStep(Computation computation) {
    PlannedStep planned{computation};
    for (int i = 0; i < kAlgorithmCount - 1; ++i) {
      if (!Accepts(i, computation)) continue;
      works_[static_cast<size_t>(i)][static_cast<size_t>(std::countr_zero(planned.computations))] = Try(i, &planned);
    }
    if (planned.algorithm != nullptr) return planned;
    planned.algorithm = &kAlgorithms[kAlgorithmCount - 1];
    planned.step = planned.algorithm->make_step(problem_, computation, &planned.ledger);
    return planned;
  }

  // Puts one step in the place of those of a set of computations where it is less work. An algorithm's work for a set
  // is no less than for one computation of it, so that most need not be made to know that they are not.
  void JoinSteps(std::vector<PlannedStep>* steps) {
    for (const uint8_t set : kJointSets) {
      if ((problem_.computations & set) != set) continue;
      const double apart = AnyReference(*steps, set) ? std::numeric_limits<double>::infinity() : WorkOf(*steps, set);
      PlannedStep joint{set};
      for (int i = 0; i < kAlgorithmCount - 1; ++i) {
        if (kAlgorithms[i].joint && LeastOf(i, set) < apart && Accepts(i, set)) Try(i, &joint);
      }
      if (joint.algorithm == nullptr || joint.step->Work() >= apart) continue;
      std::erase_if(*steps, [&](const PlannedStep& planned) { return (planned.computations & set) != 0; });
      steps->insert(steps->begin(), std::move(joint));
      return;
    }
  }

  bool Accepts(int algorithm, uint8_t set) const {
    return Allows(only_, kAlgorithms[algorithm]) &&
           kAlgorithms[algorithm].accepts(problem_, static_cast<Computation>(set)).empty();
  }

  // Takes the algorithm where it is less work than what there is. Returns its work.
  double Try(int algorithm, PlannedStep* planned) const {
    plan::WorkspaceLedger ledger;
    std::unique_ptr<Step> step =
        kAlgorithms[algorithm].make_step(problem_, static_cast<Computation>(planned->computations), &ledger);
    const double work = step->Work();
    if (planned->algorithm == nullptr || work < planned->step->Work()) {
      planned->algorithm = &kAlgorithms[algorithm];
      planned->step = std::move(step);
      planned->ledger = std::move(ledger);
    }
    return work;
  }

  double LeastOf(int algorithm, uint8_t set) const {
    double least = 0;
    for (size_t i = 0; i < std::size(kAllComputations); ++i) {
      if ((set >> i & 1) != 0) least = std::max(least, works_[static_cast<size_t>(algorithm)][i]);
    }
    return least;
  }

  const ConvProblem& problem_;
  const char* const only_;
  // Of each algorithm for each computation alone, by its bit; 0 where that is not wanted or not served.
  std::vector<std::array<double, std::size(kAllComputations)>> works_;
};

// Each thread's own memory begins at the same place in all steps, where there is room.
void SpreadShares(int64_t total_bytes, std::vector<PlannedStep>* steps) {
  int64_t step = 0;
  for (const PlannedStep& planned : *steps) step = std::max(step, planned.ledger.step());
  for (PlannedStep& planned : *steps) planned.ledger.Spread(step, total_bytes);
}

}  // namespace

int64_t Plan::workspace_bytes() const {
  int64_t bytes = 0;
  for (const PlannedStep& planned : steps) bytes = std::max(bytes, planned.ledger.total_bytes());
  return bytes;
}

bool Plan::overflowed() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](const PlannedStep& planned) { return planned.ledger.overflowed(); });
}

std::unique_ptr<Plan> BuildPlan(const ConvProblem& problem, const char* only) {
  auto plan = std::make_unique<Plan>();
  plan->problem = problem;
  plan->only = only;
  plan->steps = Planner(problem, only).Steps();
  plan->work = WorkOf(plan->steps, problem.computations);
  SpreadShares(plan->workspace_bytes(), &plan->steps);
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
