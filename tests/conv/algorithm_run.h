// SPDX-License-Identifier: Apache-2.0
// Cases run by one algorithm, and what its results are held to.
#ifndef CANOPY_TESTS_CONV_ALGORITHM_RUN_H_
#define CANOPY_TESTS_CONV_ALGORITHM_RUN_H_

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "conv/conv.h"
#include "conv/plan.h"
#include "conv/streams.h"
#include "kernels/streams.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {

// The computations of the first step that the algorithm itself served, together.
inline uint8_t RunAlgorithm(Case* c, const char* algorithm, uint8_t computations, bool saturate = false) {
  c->problem.computations = computations;
  const std::unique_ptr<Plan> plan = BuildPlan(c->problem, algorithm);
  // An odd address, a canary behind: the workspace may have any alignment and is used no further than reported.
  std::vector<char> workspace(static_cast<size_t>(plan->ledger.total_bytes()) + 65, char{0x77});
  Run(*plan, c->buffers(), workspace.data() + 1, saturate);
  for (size_t i = workspace.size() - 64; i < workspace.size(); ++i) EXPECT_EQ(workspace[i], char{0x77}) << algorithm;
  const PlannedStep& first = plan->steps[0];
  return first.algorithm->name == std::string(algorithm) ? first.computations : 0;
}

// Backward, of tensors that are said to outgrow the caches, with the input's gradient at the beginning of a line of
// memory. Returns whether it goes past the caches.
inline bool RunPastCaches(Case* c, const char* algorithm, uint8_t computations) {
  const ScopedStreams streams(true);
  c->problem.computations = computations;
  const std::unique_ptr<Plan> plan = BuildPlan(c->problem, algorithm);
  std::vector<char> workspace(static_cast<size_t>(plan->ledger.total_bytes()) + 1), &result = c->input_result.bytes;
  std::vector<char> memory(result.size() + 3 * kernels::kMemoryLine, char{0x77});
  char* line = memory.data() + kernels::kMemoryLine;
  line += kernels::kMemoryLine - reinterpret_cast<uintptr_t>(line) % kernels::kMemoryLine;
  Buffers buffers = c->buffers();
  buffers.input_result = line;
  Run(*plan, buffers, workspace.data(), false);
  result.assign(line, line + result.size());
  for (const char& byte : memory) {
    const bool outside = &byte < line || &byte >= line + result.size();
    EXPECT_TRUE(!outside || byte == char{0x77});
  }
  return plan->steps[0].step->Describe().find("past the caches") != std::string::npos;
}

// Forward, backward data and backward weights of whole numbers, whose sums FP32 holds. Counts in `served`, in this
// order, what the algorithm itself computed.
inline void ExpectExactSums(Case* c, const char* algorithm, const std::string& trace, std::array<int, 3>* served) {
  const Computation computations[] = {kForward, kBackwardData, kBackwardWeights};
  for (int i = 0; i < 3; ++i) (*served)[i] += RunAlgorithm(c, algorithm, computations[i]) != 0;
  const Sums expected = Expected(*c);
  ExpectNear("forward", c->output_result, expected.output, 0, trace);
  // BF16 holds whole numbers up to 256.
  ExpectNear("backward data", c->input_result, expected.input,
             c->problem.input_result.dtype == DType::kFloat32 ? 0 : 4e-3, trace);
  ExpectNear("backward weights", c->weight_result, expected.weight, 0, trace);
}

// The first element of the weights, the output or the input, in turn.
inline void MakeOneInfinite(Case* c, uint32_t seed) {
  Tensor* tensor = seed % 3 == 0 ? &c->weight : seed % 3 == 1 ? &c->output : &c->input;
  numerics::StoreElement(tensor->bytes.data(), tensor->operand.dtype, INFINITY, false);
}

// The class of a number, as far as the sums fix it: finite, +Inf, -Inf or NaN.
inline std::string Class(double value) {
  return std::isnan(value) ? "nan" : std::isinf(value) ? (value > 0 ? "inf" : "-inf") : "finite";
}

inline void ExpectSameClasses(const Tensor& actual, const std::vector<double>& expected, const std::string& trace) {
  size_t i = 0;
  ForEach(actual.dims, [&](const std::array<int64_t, 5>& at) {
    EXPECT_EQ(Class(actual.Get(at)), Class(expected[i])) << trace << ", element " << i;
    ++i;
  });
}

// Backward data and weights of a case that MakeOneInfinite has changed.
inline void ExpectPaddingAbsent(Case* c, const char* algorithm, const std::string& trace) {
  RunAlgorithm(c, algorithm, kBackwardData);
  RunAlgorithm(c, algorithm, kBackwardWeights);
  const Sums expected = Expected(*c);
  ExpectSameClasses(c->input_result, expected.input, trace + " backward data");
  ExpectSameClasses(c->weight_result, expected.weight, trace + " backward weights");
}

}  // namespace canopy::conv

#endif  // CANOPY_TESTS_CONV_ALGORITHM_RUN_H_
