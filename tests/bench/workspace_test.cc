// SPDX-License-Identifier: Apache-2.0
// The workspace is as small as docs/architecture.md says, for every layer of the bench's own lists.
#include <gtest/gtest.h>

#include <memory>

#include "base/cpu.h"
#include "bench/load.h"
#include "bench/lowering.h"
#include "bench/work.h"
#include "conv/conv.h"

namespace canopy::bench {
namespace {

class Workspace : public testing::TestWithParam<const char*> {};

TEST_P(Workspace, IsAtMostAShareOfTheTensorsAndSoMuchAThread) {
  const double for_threads = base::DefaultThreadCount() * static_cast<double>(int64_t{8} << 20);
  const std::string list = std::string(CANOPY_BENCH_FOLDER "/") + GetParam();
  int plans = 0;
  for (const BenchCase& a_case : LoadCases(list, {{"f32", "hf32", "bf16", "f16"}, ""})) {
    for (const What what : {What::kCall, What::kData, What::kWeights}) {
      if (!Offers(a_case.call, what)) continue;
      const conv::Call call = CallFor(a_case.call, what);
      std::shared_ptr<const conv::Plan> plan;
      ASSERT_TRUE(conv::MakePlan(LowerCall(call, {}).problem, &plan).ok()) << a_case.name;
      EXPECT_LE(static_cast<double>(conv::WorkspaceBytes(*plan)), 0.15 * TensorBytes(call) + for_threads)
          << a_case.type << " " << a_case.name << ", tensors of " << TensorBytes(call) << " bytes\n"
          << conv::Describe(*plan);
      ++plans;
    }
  }
  EXPECT_GT(plans, 10);
}

INSTANTIATE_TEST_SUITE_P(Lists, Workspace,
                         testing::Values("networks/resnet50.txt", "networks/mobilenetv2.txt", "networks/convnext_t.txt",
                                         "networks/unet3d.txt", "networks/convs2s.txt", "generators.txt", "heads.txt",
                                         "layers.txt", "survey.txt", "views.txt"));

}  // namespace
}  // namespace canopy::bench
