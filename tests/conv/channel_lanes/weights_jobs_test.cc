// SPDX-License-Identifier: Apache-2.0
// Weights gradients whose best cut is one job are cut further for several threads, which must not change a sum.
#include <gtest/gtest.h>

#include <string>

#include "conv/channel_lanes/weights_step.h"
#include "exec/pool.h"
#include "tests/conv/algorithm_run.h"
#include "tests/conv/joint_gradients.h"
#include "tests/conv/random_case.h"

namespace canopy::conv {
namespace {

// Of so few positions that they are one segment.
Geometry GeometryOf(int64_t inputs, int64_t outputs, int64_t size, int64_t dilation) {
  Geometry g;
  g.batch = 2;
  g.input_channels = inputs;
  g.output_channels = outputs;
  g.input_size = {1, size, size};
  g.kernel = {1, 3, 3};
  g.pad_begin = {0, 1, 1};
  g.dilation = {1, dilation, dilation};
  g.output_size = {1, size + 2 - 2 * dilation, size + 2 - 2 * dilation};
  return g;
}

// The number before `word` in what a step says of its cut.
int64_t NumberBefore(const std::string& described, const std::string& word) {
  const size_t end = described.find(word);
  if (end == std::string::npos) return 0;
  const size_t begin = described.find_last_not_of("0123456789", end - 1) + 1;
  return std::stoll(described.substr(begin, end - begin));
}

TEST(ChannelLanesWeightsTest, JobsAreEnoughForAllThreads) {
  ASSERT_EQ(exec::ThreadCount(), 4);
  struct Layer {
    int64_t inputs, outputs, size, dilation;
  };
  for (const Layer& layer : {Layer{64, 128, 11, 3}, Layer{128, 128, 9, 2}, Layer{96, 192, 7, 1}}) {
    Draw draw(1);
    const Geometry g = GeometryOf(layer.inputs, layer.outputs, layer.size, layer.dilation);
    Case c = PlainCase(g, 1, DType::kFloat32, &draw);
    c.problem.computations = kBackwardWeights;
    plan::WorkspaceLedger ledger;
    const channel_lanes::WeightsStep step(c.problem, &ledger);
    const std::string cut = step.Describe();
    ASSERT_GT(step.Work(), kSerialWork) << cut;
    ASSERT_NE(cut.find("1 segments"), std::string::npos) << cut;
    const int64_t inputs = NumberBefore(cut, " input by "), outputs = NumberBefore(cut, " output channels");
    ASSERT_GT(inputs * outputs, 0) << cut;
    const auto blocks = [](int64_t channels, int64_t block) { return (channels + block - 1) / block; };
    EXPECT_GE(blocks(layer.inputs, inputs) * blocks(layer.outputs, outputs), 4) << cut;
    EXPECT_EQ(RunAlgorithm(&c, "channel_lanes", kBackwardWeights), kBackwardWeights);
    ExpectGradients(c, kBackwardWeights, 0, 0, cut);
  }
}

}  // namespace
}  // namespace canopy::conv
