// SPDX-License-Identifier: Apache-2.0
// A random call made ready for the tools: with data of many kinds, and with storage before and behind every view, which
// the check then finds untouched or not.
#ifndef CANOPY_TESTS_SWEEP_PROBLEM_H_
#define CANOPY_TESTS_SWEEP_PROBLEM_H_

#include <cstdint>

#include "tools/case.h"

namespace canopy::sweep {

// The problem of a seed, for the product that this process emulates.
tools::Case MakeProblem(uint64_t seed, double max_work);

// Elements of storage on both sides of every view.
void AddMargins(tools::Case* problem);

}  // namespace canopy::sweep

#endif  // CANOPY_TESTS_SWEEP_PROBLEM_H_
