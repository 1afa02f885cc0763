// SPDX-License-Identifier: Apache-2.0
// What transforms and products take, in units of Step::Work: of data gradients and forward as of weight gradients.
#ifndef CANOPY_CONV_ROW_WINOGRAD_ESTIMATES_H_
#define CANOPY_CONV_ROW_WINOGRAD_ESTIMATES_H_

#include "conv/problem.h"

namespace canopy::conv::row_winograd {

inline constexpr double kWorkAWindowVector = 34;  // six rows to the points: as many stores, which wait for one another
inline constexpr double kWorkASegment = 40;
inline constexpr double kWorkAFarVector = 12;  // more a row's vector of memory
inline constexpr double kWorkAConvertedVector = 7;
inline constexpr double kProductWork = 1.3;  // of a multiply-add, for most vectors of windows straddle lines
inline constexpr double kWorkATile = 15;     // of a product, a call
inline constexpr double kWorkARun = 4000;    // zeros where no pixel is, and setting up

// More for a vector of so many rows where these are converted.
inline double ConversionWork(const ConvProblem& problem, const Operand& operand, int64_t rows) {
  return problem.IsPlain(operand) ? 0 : static_cast<double>(rows) * kWorkAConvertedVector;
}

}  // namespace canopy::conv::row_winograd

#endif  // CANOPY_CONV_ROW_WINOGRAD_ESTIMATES_H_
