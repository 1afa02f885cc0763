// SPDX-License-Identifier: Apache-2.0
#include "conv/conv.h"

#include <algorithm>
#include <new>

#include "base/env.h"
#include "base/log.h"
#include "conv/plan.h"
#include "conv/plan_cache.h"
#include "exec/pool.h"

namespace canopy::conv {
namespace {

constexpr size_t kCachedPlans = 1024;  // a plan is a few kilobytes
constexpr int kInnerNullptr = 561103;  // ACLNN_ERR_INNER_NULLPTR: CANN's code for what cannot be planned

// Never destroyed: another thread may be in phase 1 while the process exits.
PlanCache& Cache() {
  static PlanCache* cache = new PlanCache(kCachedPlans);
  return *cache;
}

const char* ReadOnlyAlgorithm() {
  const std::string name = base::EnvText("CANOPY_ALGORITHM", "");
  if (name.empty()) return nullptr;
  if (name == kDirect) return kDirect;
  std::string allowed = kDirect;
  for (int i = 0; i < kAlgorithmCount; ++i) {
    if (name == kAlgorithms[i].name) return kAlgorithms[i].name;
    allowed.append(", ").append(kAlgorithms[i].name);
  }
  base::Log(base::LogLevel::kWarning, "CANOPY_ALGORITHM: was \"%s\"; allowed is one of %s, or unset; it is ignored",
            name.c_str(), allowed.c_str());
  return nullptr;
}

// CANOPY_ALGORITHM names one algorithm of the list ("direct" turns the fast ones off).
const char* OnlyAlgorithm() {
  static const char* const only = ReadOnlyAlgorithm();
  return only;
}

void LogRefusals(const Plan& plan) {
  for (const PlannedStep& planned : plan.steps) {
    const bool reference = planned.algorithm == &kAlgorithms[kAlgorithmCount - 1];
    if (reference) {
      const std::string refusals = Refusals(plan, planned);
      base::Log(base::LogLevel::kWarning, "%s runs on the reference algorithm, which is slow: %s",
                ComputationNames(planned.computations).c_str(),
                refusals.empty() ? "CANOPY_ALGORITHM asks for it" : refusals.c_str());
    }
  }
}

std::string DescribeEntry(const plan::WorkspaceLedger& ledger, const plan::WorkspaceLedger::Entry& entry) {
  const std::string bytes = std::to_string(entry.bytes) + " bytes";
  std::string text = std::string("workspace: ") + entry.name + ", ";
  if (entry.threads > 1) {
    text +=
        std::to_string(entry.threads) + " threads' " + bytes + ", " + std::to_string(ledger.StepOf(entry)) + " apart,";
  } else {
    text += bytes;
  }
  return text + " at " + std::to_string(ledger.OffsetOf(entry)) + "\n";
}

}  // namespace

base::Status MakePlan(const ConvProblem& problem, std::shared_ptr<const Plan>* plan) {
  try {
    *plan = Cache().Find(problem);
    if (*plan != nullptr) return {};
    std::shared_ptr<const Plan> built = BuildPlan(problem, OnlyAlgorithm());
    if (built->overflowed()) {
      return {kInnerNullptr, "workspace: its size overflows 64 bits; allowed are problems whose blocks fit memory"};
    }
    LogRefusals(*built);
    Cache().Insert(built);
    *plan = std::move(built);
    return {};
  } catch (const std::bad_alloc&) {
    return {kInnerNullptr, "plan: out of memory while planning"};
  }
}

uint64_t WorkspaceBytes(const Plan& plan) { return static_cast<uint64_t>(plan.workspace_bytes()); }

bool IsSmall(const Plan& plan) { return plan.work < kSmallWork; }

bool IsBrief(const Plan& plan) { return plan.work < kBriefWork; }

int ThreadCount(const Plan& plan) {
  const auto shared = [](const PlannedStep& planned) { return planned.step->Work() >= kSerialWork; };
  return std::any_of(plan.steps.begin(), plan.steps.end(), shared) ? exec::ThreadCount() : 1;
}

std::string Describe(const Plan& plan) {
  std::string text;
  for (const PlannedStep& planned : plan.steps) {
    text += ComputationNames(planned.computations) + ": " + planned.algorithm->name + ", " + planned.step->Describe() +
            "\n";
    const std::string refusals = Refusals(plan, planned);
    if (!refusals.empty()) text += "  refused: " + refusals + "\n";
  }
  text += "threads: " + std::to_string(ThreadCount(plan)) + "\n";
  for (const PlannedStep& planned : plan.steps) {
    for (const auto& entry : planned.ledger.entries()) text += DescribeEntry(planned.ledger, entry);
  }
  return text;
}

std::string AlgorithmNames(const Plan& plan) {
  std::string text;
  for (const Computation computation : kAllComputations) {
    for (const PlannedStep& planned : plan.steps) {
      if ((planned.computations & computation) == 0) continue;
      text.append(text.empty() ? "" : ",").append(planned.algorithm->name);
    }
  }
  return text;
}

void Run(const Plan& plan, const Buffers& buffers, void* workspace, bool saturate) noexcept {
  ConvProblem problem = plan.problem;
  problem.rule.saturate = saturate;
  for (const PlannedStep& planned : plan.steps) planned.step->Run(problem, buffers, planned.ledger, workspace);
}

}  // namespace canopy::conv
