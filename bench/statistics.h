// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_BENCH_STATISTICS_H_
#define CANOPY_BENCH_STATISTICS_H_

#include <vector>

namespace canopy::bench {

// 0 of nothing.
double Median(std::vector<double> values);
// The least value that `percent` of the values do not exceed; 0 of nothing. REQUIRES: 0 < percent <= 100.
double Percentile(std::vector<double> values, int percent);
// Of the positive values; 0 of nothing.
double GeometricMean(const std::vector<double>& values);
// ||a - b|| / ||b||; 0 where both are zero, infinite where only b is or where anything is not a number.
double RelativeDifference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_STATISTICS_H_
