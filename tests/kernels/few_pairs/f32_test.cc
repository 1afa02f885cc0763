// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/few_pairs/contract.h"
#include "tests/kernels/random_floats.h"

namespace canopy::kernels {
namespace {

constexpr int kLanes = kFewPairsLanes;
constexpr int kInputPixels = 7, kOutputPixels = 5;

// Some pairs of any pixels under each of four offsets, none under the second.
struct Problem {
  Problem(int inputs, int outputs) {
    const uint32_t seed = static_cast<uint32_t>(100 * inputs + outputs);
    std::mt19937 random(seed);
    for (int tap = 0; tap < 4; ++tap) {
      for (int i = 0; i < (tap == 1 ? 0 : 2 * tap + 1); ++i) {
        const int32_t input = static_cast<int32_t>(random() % kInputPixels);
        const int32_t output = static_cast<int32_t>(random() % kOutputPixels);
        list.push_back({input * kLanes, output * outputs});
      }
      ends.push_back(static_cast<int32_t>(list.size()));
    }
    input = RandomFloats(kInputPixels * kLanes, seed + 1);
    output = RandomFloats(kOutputPixels * outputs, seed + 2);
    weights = RandomFloats(ends.size() * outputs * kLanes, seed + 3);
    data = RandomFloats(kInputPixels * kLanes, seed + 4);
    pairs = {list.data(), ends.data(), static_cast<int64_t>(ends.size()), inputs, outputs};
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  std::vector<PixelPair> list;
  std::vector<int32_t> ends;
  std::vector<float> input, output, weights, data;
  PixelPairs pairs;
};

// Sums of at most 16 products of numbers up to 1 for each of 32 channels.
constexpr double kBound = 1e-4;

void ExpectSums(int inputs, int outputs) {
  const Problem problem(inputs, outputs);
  std::vector<float> data = problem.data;
  std::vector<float> gradients(problem.weights.size());
  std::vector<double> expected_data(data.begin(), data.end()), expected_gradients(gradients.size());
  for (size_t tap = 0, i = 0; tap < problem.ends.size(); ++tap) {
    for (; i < static_cast<size_t>(problem.ends[tap]); ++i) {
      const PixelPair& pair = problem.list[i];
      for (int o = 0; o < outputs; ++o) {
        for (int l = 0; l < inputs; ++l) {
          const size_t kernel = (tap * outputs + o) * kLanes + l;
          const double factor = problem.output[pair.output + o];
          expected_data[pair.input + l] += factor * problem.weights[kernel];
          expected_gradients[kernel] += factor * problem.input[pair.input + l];
        }
      }
    }
  }
  FewPairs().add_data(problem.pairs, problem.output.data(), problem.weights.data(), data.data());
  FewPairs().sum_weights(problem.pairs, problem.input.data(), problem.output.data(), gradients.data());
  for (size_t i = 0; i < data.size(); ++i) {
    if (static_cast<int>(i % kLanes) >= inputs) continue;
    ASSERT_NEAR(data[i], expected_data[i], kBound) << inputs << " and " << outputs << " channels, number " << i;
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (static_cast<int>(i % kLanes) >= inputs) continue;
    ASSERT_NEAR(gradients[i], expected_gradients[i], kBound) << inputs << " and " << outputs << " channels, " << i;
  }
}

class FewPairsTest : public testing::TestWithParam<int64_t> {
 private:
  const ScopedTarget scoped_{GetParam()};
};

TEST_P(FewPairsTest, SumTheProductsOfTheListedPairs) {
  for (int inputs = 1; inputs <= kLanes; ++inputs) {
    for (const int outputs : {1, 2, 3, 4, 5, 6, 7, 8, 15, 32}) {
      ExpectSums(inputs, outputs);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FewPairsTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
