// SPDX-License-Identifier: Apache-2.0
#include "bench/load.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "tests/support/scratch_folder.h"
#include "tools/case_list.h"

namespace canopy::bench {
namespace {

std::string Folder(const std::string& file) { return CANOPY_BENCH_FOLDER "/" + file; }

std::vector<BenchCase> LoadText(const std::string& text) {
  const testing_support::ScratchFolder folder;
  const std::string path = folder.File("list.txt");
  std::ofstream(path) << text;
  return LoadCases(path, {});
}

// Multiply-adds of the forward convolution of one image, taps in the padding counted as everybody counts them.
double ForwardOfOne(const conv::Call& call) {
  double terms = static_cast<double>(call.input_channels * call.output_channels / call.groups);
  for (const int64_t k : call.kernel) terms *= static_cast<double>(k);
  for (const int64_t size : call.transposed ? call.input_size : conv::CallOutputSize(call)) {
    terms *= static_cast<double>(size);
  }
  return terms;
}

struct Total {
  int layers = 0;
  double forward = 0;
};

Total TotalOf(const std::string& network) {
  Total total;
  for (const BenchCase& a_case : LoadCases(Folder("networks/" + network), {})) {
    EXPECT_TRUE(IsBackward(a_case.call));
    total.layers += a_case.times;
    total.forward += a_case.times * ForwardOfOne(a_case.call);
  }
  return total;
}

TEST(Networks, TheyHaveAsManyLayersAndOperationsAsWasPublished) {
  const Total resnet = TotalOf("resnet50.txt"), mobilenet = TotalOf("mobilenetv2.txt");
  EXPECT_EQ(resnet.layers, 53);
  EXPECT_NEAR(resnet.forward, 4.09e9, 0.01e9);  // 4.1 billion with the classifier
  EXPECT_EQ(mobilenet.layers, 52);
  EXPECT_NEAR(mobilenet.forward, 300e6, 2e6);
  EXPECT_EQ(TotalOf("convnext_t.txt").layers, 22);
  EXPECT_EQ(TotalOf("unet3d.txt").layers, 18);
  EXPECT_EQ(TotalOf("convs2s.txt").layers, 30);
}

TEST(Networks, EachLayersResultFitsTheNextOfTheUNet) {
  const std::vector<BenchCase> cases = LoadCases(Folder("networks/unet3d.txt"), {});
  EXPECT_EQ(conv::CallOutputSize(cases.back().call), (std::vector<int64_t>{44, 44, 28}));
}

TEST(Load, EqualLinesAreOneCaseWithACount) {
  const std::string line = "conv_backward ci4 co4 in8x8 k3\n";
  const std::vector<BenchCase> cases = LoadText(line + "conv_backward ci4 co8 in8x8 k3\n" + line);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].times, 2);
  EXPECT_EQ(cases[1].times, 1);
}

TEST(Load, EachTypeAskedForMakesACase) {
  const std::vector<BenchCase> cases = LoadCases("conv_backward ci4 co4 in8x8 k3", {{"f32", "hf32", "bf16"}, ""});
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[1].type, "hf32");
  EXPECT_EQ(cases[1].call.math, 3);
}

TEST(Load, CallsThatMustBeRefusedAreNotTimed) {
  EXPECT_TRUE(LoadText("conv_backward ci4 co4 in8x8 k3 s0 expect=161002\n").empty());
}

TEST(Load, TheFilterSeesNamesClassesAndTexts) {
  const std::string list = Folder("layers.txt");
  EXPECT_FALSE(LoadCases(list, {{}, "dwlarge"}).empty());
  EXPECT_FALSE(LoadCases(list, {{}, "k29x29"}).empty());
  EXPECT_TRUE(LoadCases(list, {{}, "no such thing"}).empty());
}

TEST(Load, AnAccuracyTablesCaseKeepsItsGeometryTypesAndMask) {
  const std::vector<BenchCase> cases =
      LoadText(R"({"id":"x","op":"ConvolutionBackward","nd":1,"tensors":{)"
               R"("gradOutput":{"shape":[2,6,5],"dtype":"float16","format":"NCL"},)"
               R"("input":{"shape":[2,4,7],"dtype":"float16","format":"NCL"},)"
               R"("weight":{"shape":[6,2,3],"dtype":"float16","format":"NCL"}},)"
               R"("attrs":{"biasSizes":[6],"stride":[1],"padding":[0],"dilation":[1],"transposed":false,)"
               R"("outputPadding":[0],"groups":2,"outputMask":[true,true,false],"cubeMathType":0},"outputs":{)"
               R"("gradInput":{"shape":[2,4,7],"dtype":"float16","format":"NCL"},)"
               R"("gradWeight":{"shape":[6,2,3],"dtype":"float16","format":"NCL"},"gradBias":null},"expect":0})"
               "\n");
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].name, "x");
  EXPECT_EQ(conv::FormatCall(cases[0].call),
            "conv_backward f16 n2 ci4 co6 in7 k3 s1 p0 d1 g2 mask110 math0 grad_bias:null");
}

}  // namespace
}  // namespace canopy::bench
