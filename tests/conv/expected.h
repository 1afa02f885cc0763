// SPDX-License-Identifier: Apache-2.0
// The formula that heads conv/problem.h in double, and results held to it.
#ifndef CANOPY_TESTS_CONV_EXPECTED_H_
#define CANOPY_TESTS_CONV_EXPECTED_H_

#include <string>
#include <vector>

#include "tests/conv/case.h"

namespace canopy::conv {

struct Sums {
  std::vector<double> input, weight, output;
};

// Visits every (n, co, o, c, kk) of the formula whose input position exists.
Sums Expected(const Case& c);

// Within `tolerance` of the norm.
void ExpectNear(const char* what, const Tensor& actual, const std::vector<double>& expected, double tolerance,
                const std::string& trace);

// Finite, +Inf, -Inf or NaN where the sums are.
void ExpectSameClasses(const Tensor& actual, const std::vector<double>& expected, const std::string& trace);

}  // namespace canopy::conv

#endif  // CANOPY_TESTS_CONV_EXPECTED_H_
