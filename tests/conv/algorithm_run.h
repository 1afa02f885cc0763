// SPDX-License-Identifier: Apache-2.0
// Cases run by one algorithm, and what its results are held to.
#ifndef CANOPY_TESTS_CONV_ALGORITHM_RUN_H_
#define CANOPY_TESTS_CONV_ALGORITHM_RUN_H_

#include <array>
#include <cstdint>
#include <string>

#include "conv/algorithm.h"
#include "tests/conv/case.h"
#include "tests/conv/expected.h"

namespace canopy::conv {

// nullptr where there is none.
const Algorithm* AlgorithmNamed(const std::string& name);

// Whether all that the algorithm could accept has to wait for a processor with a matrix unit, or with vectors of 16
// numbers.
bool ServesNobody(const std::string& name);

// Runs the plan if any of its steps is the algorithm's own, and returns whether one is. Where none is the reference
// serves, which is tested by itself.
bool RunIfServed(Case* c, const char* algorithm, uint8_t computations, bool saturate = false);

// Runs the plan if its first step is the algorithm's own, and returns what that step computes, or else 0.
uint8_t RunAlgorithm(Case* c, const char* algorithm, uint8_t computations, bool saturate = false);

// Backward data or backward weights, of tensors that are said to outgrow the caches, with the result at the beginning
// of a line of memory. Returns whether it goes past the caches.
bool RunPastCaches(Case* c, const char* algorithm, uint8_t computations);

// Forward, backward data and backward weights of whole numbers, whose sums FP32 holds, each where the algorithm itself
// serves it. Counts these in `served`, in this order.
void ExpectExactSums(Case* c, const char* algorithm, const std::string& trace, std::array<int, 3>* served);

// The first element of the weights, the output or the input, in turn.
void MakeOneInfinite(Case* c, uint32_t seed);

// Backward data and weights of a case that MakeOneInfinite has changed, likewise.
void ExpectPaddingAbsent(Case* c, const char* algorithm, const std::string& trace);

}  // namespace canopy::conv

#endif  // CANOPY_TESTS_CONV_ALGORITHM_RUN_H_
