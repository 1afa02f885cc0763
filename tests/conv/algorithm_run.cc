// SPDX-License-Identifier: Apache-2.0
#include "tests/conv/algorithm_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "conv/plan.h"
#include "conv/streams.h"
#include "kernels/few_tiles/contract.h"
#include "kernels/split_gemm/contract.h"
#include "kernels/streams.h"

namespace canopy::conv {

namespace {

std::unique_ptr<Plan> PlanOf(Case* c, const char* algorithm, uint8_t computations) {
  c->problem.computations = computations;
  return BuildPlan(c->problem, algorithm);
}

void RunPlan(const Plan& plan, Case* c, const char* algorithm, bool saturate) {
  // An odd address, a canary behind: the workspace may have any alignment and is used no further than reported.
  std::vector<char> workspace(static_cast<size_t>(plan.workspace_bytes()) + 65, char{0x77});
  Run(plan, c->buffers(), workspace.data() + 1, saturate);
  for (size_t i = workspace.size() - 64; i < workspace.size(); ++i) EXPECT_EQ(workspace[i], char{0x77}) << algorithm;
}

}  // namespace

const Algorithm* AlgorithmNamed(const std::string& name) {
  for (int i = 0; i < kAlgorithmCount; ++i) {
    if (kAlgorithms[i].name == name) return &kAlgorithms[i];
  }
  return nullptr;
}

bool ServesNobody(const std::string& name) {
  if (name == "few_tiles") return kernels::FewTiles() == nullptr;
  return (name == "split_gemm" || name == "split_winograd") && kernels::SplitGemm(3) == nullptr;
}

bool RunIfServed(Case* c, const char* algorithm, uint8_t computations, bool saturate) {
  const std::unique_ptr<Plan> plan = PlanOf(c, algorithm, computations);
  const auto own = [&](const PlannedStep& step) { return step.algorithm->name == std::string(algorithm); };
  if (std::none_of(plan->steps.begin(), plan->steps.end(), own)) return false;
  RunPlan(*plan, c, algorithm, saturate);
  return true;
}

uint8_t RunAlgorithm(Case* c, const char* algorithm, uint8_t computations, bool saturate) {
  const std::unique_ptr<Plan> plan = PlanOf(c, algorithm, computations);
  const PlannedStep& first = plan->steps[0];
  if (first.algorithm->name != std::string(algorithm)) return 0;
  RunPlan(*plan, c, algorithm, saturate);
  return first.computations;
}

bool RunPastCaches(Case* c, const char* algorithm, uint8_t computations) {
  const ScopedStreams streams(true);
  const std::unique_ptr<Plan> plan = PlanOf(c, algorithm, computations);
  const bool weights = computations == kBackwardWeights;
  std::vector<char> workspace(static_cast<size_t>(plan->workspace_bytes()) + 1);
  std::vector<char>& result = (weights ? c->weight_result : c->input_result).bytes;
  std::vector<char> memory(result.size() + 3 * kernels::kMemoryLine, char{0x77});
  char* line = memory.data() + kernels::kMemoryLine;
  line += kernels::kMemoryLine - reinterpret_cast<uintptr_t>(line) % kernels::kMemoryLine;
  Buffers buffers = c->buffers();
  (weights ? buffers.weight_result : buffers.input_result) = line;
  Run(*plan, buffers, workspace.data(), false);
  result.assign(line, line + result.size());
  for (const char& byte : memory) {
    const bool outside = &byte < line || &byte >= line + result.size();
    EXPECT_TRUE(!outside || byte == char{0x77});
  }
  return plan->steps[0].step->Describe().find("past the caches") != std::string::npos;
}

void ExpectExactSums(Case* c, const char* algorithm, const std::string& trace, std::array<int, 3>* served) {
  const bool forward = RunIfServed(c, algorithm, kForward), data = RunIfServed(c, algorithm, kBackwardData),
             weights = RunIfServed(c, algorithm, kBackwardWeights);
  (*served)[0] += forward;
  (*served)[1] += data;
  (*served)[2] += weights;
  if (!forward && !data && !weights) return;
  const Sums expected = Expected(*c);
  // BF16 holds whole numbers up to 256.
  const double data_tolerance = c->problem.input_result.dtype == DType::kFloat32 ? 0 : 4e-3;
  if (forward) ExpectNear("forward", c->output_result, expected.output, 0, trace);
  if (data) ExpectNear("backward data", c->input_result, expected.input, data_tolerance, trace);
  if (weights) ExpectNear("backward weights", c->weight_result, expected.weight, 0, trace);
}

void MakeOneInfinite(Case* c, uint32_t seed) {
  Tensor* tensor = seed % 3 == 0 ? &c->weight : seed % 3 == 1 ? &c->output : &c->input;
  numerics::StoreElement(tensor->bytes.data(), tensor->operand.dtype, INFINITY, false);
}

void ExpectPaddingAbsent(Case* c, const char* algorithm, const std::string& trace) {
  const bool data = RunIfServed(c, algorithm, kBackwardData), weights = RunIfServed(c, algorithm, kBackwardWeights);
  if (!data && !weights) return;
  const Sums expected = Expected(*c);
  if (data) ExpectSameClasses(c->input_result, expected.input, trace + " backward data");
  if (weights) ExpectSameClasses(c->weight_result, expected.weight, trace + " backward weights");
}

}  // namespace canopy::conv
