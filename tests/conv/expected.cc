// SPDX-License-Identifier: Apache-2.0
#include "tests/conv/expected.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace canopy::conv {

Sums Expected(const Case& c) {
  const Geometry& g = c.problem.geometry;
  Sums sums;
  sums.input.assign(c.input.count(), 0);
  sums.weight.assign(c.weight.count(), 0);
  sums.output.assign(c.output.count(), 0);
  const auto flat = [](const std::array<int64_t, 5>& at, const std::array<int64_t, 5>& dims) {
    int64_t index = 0;
    for (int i = 0; i < 5; ++i) index = index * dims[i] + at[i];
    return index;
  };
  // Once for all terms: sanitizers make every access dear.
  const auto read = [&](const Tensor& tensor) {
    std::vector<double> numbers;
    ForEach(tensor.dims, [&](const std::array<int64_t, 5>& at) {
      const auto value = static_cast<float>(tensor.Get(at));
      numbers.push_back(numerics::RoundInput(value, c.problem.rule.input_rounding, false));
    });
    return numbers;
  };
  const std::vector<double> inputs = read(c.input), weights = read(c.weight), outputs = read(c.output);
  const auto position = [&](int axis, int64_t output, int64_t tap) {
    return output * g.stride[axis] - g.pad_begin[axis] + tap * g.dilation[axis];
  };
  const int64_t channels = g.group_input_channels(), columns = g.kernel[2], width = g.input_size[2];
  ForEach(c.output.dims, [&](const std::array<int64_t, 5>& out) {
    const int64_t o = flat(out, c.output.dims), first = position(2, out[4], 0), dilation = g.dilation[2];
    const int64_t first_channel = out[1] / g.group_output_channels() * channels;
    ForEach({1, channels, g.kernel[0], g.kernel[1], 1}, [&](std::array<int64_t, 5> w) {  // a kernel's row
      w[0] = out[1];
      const int64_t depth = position(0, out[2], w[2]), row = position(1, out[3], w[3]);
      if (depth < 0 || depth >= g.input_size[0] || row < 0 || row >= g.input_size[1]) return;
      const int64_t i = flat({out[0], first_channel + w[1], depth, row, 0}, c.input.dims);
      const int64_t j = flat(w, c.weight.dims);
      for (int64_t k = 0; k < columns; ++k) {
        const int64_t column = first + k * dilation;
        if (column < 0 || column >= width) continue;
        sums.output[o] += inputs[i + column] * weights[j + k];
        sums.input[i + column] += outputs[o] * weights[j + k];
        sums.weight[j + k] += outputs[o] * inputs[i + column];
      }
    });
  });
  return sums;
}

void ExpectNear(const char* what, const Tensor& actual, const std::vector<double>& expected, double tolerance,
                const std::string& trace) {
  double error = 0, norm = 0;
  size_t i = 0;
  ForEach(actual.dims, [&](const std::array<int64_t, 5>& at) {
    const double difference = actual.Get(at) - expected[i];
    error += difference * difference;
    norm += expected[i] * expected[i];
    ++i;
  });
  EXPECT_LE(std::sqrt(error), tolerance * std::sqrt(norm) + 1e-30) << what << ": " << trace;
}

namespace {

// The class of a number, as far as the sums fix it: finite, +Inf, -Inf or NaN.
std::string Class(double value) {
  return std::isnan(value) ? "nan" : std::isinf(value) ? (value > 0 ? "inf" : "-inf") : "finite";
}

}  // namespace

void ExpectSameClasses(const Tensor& actual, const std::vector<double>& expected, const std::string& trace) {
  size_t i = 0;
  ForEach(actual.dims, [&](const std::array<int64_t, 5>& at) {
    EXPECT_EQ(Class(actual.Get(at)), Class(expected[i])) << trace << ", element " << i;
    ++i;
  });
}

}  // namespace canopy::conv
