// SPDX-License-Identifier: Apache-2.0
// Something to learn: values, their gradient, and Adam's two moving averages.
#ifndef EXAMPLES_TRAIN_DIGITS_PARAMETER_H_
#define EXAMPLES_TRAIN_DIGITS_PARAMETER_H_

#include <cmath>
#include <random>
#include <vector>

#include "shuffle.h"

struct Parameter {
  std::vector<float> values, gradient, mean, variance;

  explicit Parameter(size_t count) : values(count), gradient(count), mean(count), variance(count) {}

  // For layers followed by a ReLU (He and others): a variance of 2 / fan_in keeps the signal's size.
  void Draw(int fan_in, std::mt19937* random) {
    for (float& value : values) value = Uniform(random, std::sqrt(6.0f / static_cast<float>(fan_in)));
  }

  void AdamStep(float rate, int step) {
    const float keep_mean = 0.9f, keep_variance = 0.999f, epsilon = 1e-8f;
    const float mean_scale = 1 / (1 - std::pow(keep_mean, static_cast<float>(step)));
    const float variance_scale = 1 / (1 - std::pow(keep_variance, static_cast<float>(step)));
    for (size_t i = 0; i < values.size(); ++i) {
      mean[i] = keep_mean * mean[i] + (1 - keep_mean) * gradient[i];
      variance[i] = keep_variance * variance[i] + (1 - keep_variance) * gradient[i] * gradient[i];
      values[i] -= rate * mean[i] * mean_scale / (std::sqrt(variance[i] * variance_scale) + epsilon);
    }
  }
};

#endif  // EXAMPLES_TRAIN_DIGITS_PARAMETER_H_
