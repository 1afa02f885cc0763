// SPDX-License-Identifier: Apache-2.0
#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace canopy::bench {

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle] + *std::max_element(values.begin(), values.begin() + middle)) / 2;
}

double Percentile(std::vector<double> values, int percent) {
  if (values.empty()) return 0;
  const size_t index = (values.size() * static_cast<size_t>(percent) + 99) / 100 - 1;
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[index];
}

double GeometricMean(const std::vector<double>& values) {
  double sum = 0;
  int count = 0;
  for (const double value : values) {
    if (value <= 0) continue;
    sum += std::log(value);
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / count);
}

double RelativeDifference(const std::vector<float>& a, const std::vector<float>& b) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return kInfinite;
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - b[i];
    difference += d * d;
    size += static_cast<double>(b[i]) * b[i];
  }
  if (difference == 0) return 0;
  return size > 0 && std::isfinite(difference) && std::isfinite(size) ? std::sqrt(difference / size) : kInfinite;
}

}  // namespace canopy::bench
