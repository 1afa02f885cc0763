// SPDX-License-Identifier: Apache-2.0
#include "tools/case_list.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/support/scratch_folder.h"

namespace canopy::tools {
namespace {

std::vector<Case> ReadText(const std::string& text) {
  const testing_support::ScratchFolder folder;
  const std::string path = folder.File("canopy_case_list.txt");
  std::ofstream(path) << text;
  return ReadCaseList(path, {});
}

std::string Refusal(const std::string& text) {
  try {
    ReadText(text);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kTableLine =
    R"({"id":"a","op":"ConvolutionBackward","kind":"accuracy","soc":"Ascend950","nd":2,"tensors":{"gradOutput":)"
    R"({"shape":[1,2,3,4],"dtype":"float16","format":"NCHW","value_range":[-0.5,0.25]},"input":{"shape":[1,2,3,4],)"
    R"("dtype":"bfloat16","format":"NCHW","value_range":["-inf","nan"],"strides":[99,1,8,2],"offset":3,)"
    R"("storage_shape":[200]},"weight":null},"attrs":{"biasSizes":null,"stride":[1,2],"padding":[0,1,2,3],)"
    R"("dilation":[1,1],"transposed":true,"outputPadding":[0,0],"groups":2,"outputMask":[true,false,true],)"
    R"("cubeMathType":3},"outputs":{"gradInput":{"shape":[1],"dtype":"float32","format":"ND"}},"compare":["gradBias"],)"
    R"("tolerance":{"rel":[1,2,3],"bad_fraction":[4,5,6],"abs":[7,8,9]},"expect":161002,"accept":[161002,561103]})";

TEST(CaseList, ATableLineIsTakenWordForWord) {
  const Case c = ReadJsonLine(kTableLine, {});
  EXPECT_EQ(c.op, CallOp::kConvBackward);
  EXPECT_EQ(c.soc, "Ascend950");
  EXPECT_EQ(c.statuses, (std::vector<int>{161002, 161002, 561103}));
  EXPECT_EQ(c.compare, (std::vector<CallTensor>{CallTensor::kGradBias}));
  const TensorSpec& input = c.tensor(CallTensor::kInput);
  EXPECT_EQ(input.dtype, ACL_BF16);
  EXPECT_EQ(input.strides, (Extents{99, 1, 8, 2}));
  EXPECT_EQ(input.offset, 3);
  EXPECT_EQ(StorageElements(input), 200);
  EXPECT_EQ(input.data.low, -INFINITY);
  EXPECT_TRUE(std::isnan(input.data.high));
  EXPECT_EQ(c.tensor(CallTensor::kGradOutput).data.high, 0.25);
  EXPECT_FALSE(c.tensor(CallTensor::kWeight).present);
  EXPECT_FALSE(c.attributes.bias_sizes.has_value());
  EXPECT_EQ(c.attributes.padding, (Extents{0, 1, 2, 3}));
  EXPECT_TRUE(c.attributes.transposed);
  EXPECT_EQ(c.attributes.groups, 2);
  EXPECT_EQ(WantedOutputs(c), (std::vector<CallTensor>{CallTensor::kGradInput, CallTensor::kGradBias}));
  ASSERT_TRUE(c.tolerances[static_cast<int>(CallTensor::kGradWeight)].has_value());
  EXPECT_EQ(c.tolerances[static_cast<int>(CallTensor::kGradWeight)]->absolute, 8);
}

TEST(CaseList, ANetworkLineBecomesItsCall) {
  const Case c = ReadJsonLine(
      R"({"id":"n","op":"ConvolutionBackward","net":"x","layer":"y","nd":2,"N":5,"Ci":4,"Co":6,"in":[9,8],"out":[9,8],)"
      R"("k":[3,2],"stride":[1,1],"pad":[1,0],"pad_end":[1,1],"asymmetric":true,"dilation":[1,1],"groups":2,)"
      R"("transposed":false,"output_padding":[0,0]})",
      {});
  EXPECT_EQ(c.text, "conv_backward f32 n5 ci4 co6 in9x8 k3x2 s1x1 p1x1x0x1 d1x1 g2 mask111 math0");
  EXPECT_EQ(c.id, "n x.y");
}

TEST(CaseList, TimeLayersOfNetworkAndPerformanceListsAreTbc) {
  const Case network =
      ReadJsonLine(R"({"id":"n","op":"ConvTbcBackward","nd":1,"N":5,"Ci":4,"Co":6,"T":45,"K":3,"pad":1})", {});
  EXPECT_EQ(network.text, "tbc_backward f32 t45 b5 ci4 co6 k3 pad1 math0");
  Overrides overrides;
  overrides.dtype = numerics::DType::kBFloat16;
  overrides.mask = std::array<bool, 3>{true, false, false};
  overrides.math = 3;
  const Case performance = ReadJsonLine(
      R"({"id":"p","cls":"tbc","nd":1,"N":5,"Ci":4,"Co":6,"in":[45],"k":[3],"stride":[1],"pad":[1],"dilation":[1],)"
      R"("groups":1,"transposed":false,"output_padding":[0],"tbc":true})",
      overrides);
  EXPECT_EQ(performance.text, "tbc_backward bf16 t45 b5 ci4 co6 k3 pad1 math3");
}

TEST(CaseList, TextLinesSayWhatTheirDataAreAndWhatToExpect) {
  const std::vector<Case> cases = ReadText(
      "# a comment\n\n"
      "conv_backward ci2 co2 in5 k3 data=normal:1:0.5 expect=161002 soc=Ascend950  # another\n"
      "tbc_forward t5 ci2 co2 k3\n");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].statuses, (std::vector<int>{161002}));
  EXPECT_EQ(cases[0].soc, "Ascend950");
  EXPECT_EQ(cases[0].tensor(CallTensor::kInput).data.kind, DataSpec::Kind::kNormal);
  EXPECT_EQ(cases[0].tensor(CallTensor::kInput).data.high, 0.5);
  EXPECT_EQ(cases[1].op, CallOp::kTbcForward);
  EXPECT_EQ(cases[1].compare, (std::vector<CallTensor>{CallTensor::kOutput}));
}

TEST(CaseList, ABadLineIsRefusedWithFileAndLineAndReason) {
  const auto says = [](const std::string& text, std::initializer_list<const char*> parts) {
    const std::string message = Refusal(text);
    for (const char* part : parts) EXPECT_NE(message.find(part), message.npos) << message << " lacks " << part;
  };
  says("", {"canopy_case_list.txt", "holds no case"});
  says("tbc_forward t5 ci2 co2 k3\nconv_forward ci2 co2 in5\n", {":2:", "\"k\" is missing"});
  says("tbc_forward t5 ci2 co2 k3 data=gauss:1:2\n", {":1:", "gauss", "normal:mean:deviation"});
  says("tbc_forward t5 ci2 co2 k3 expect=no\n", {":1:", "expect was \"no\""});
  says("{\"id\": 3,\n", {":1:", "not JSON"});
  says("{\"id\": \"x\"}\n", {":1:", "neither a case"});
  std::string line = kTableLine;
  line.replace(line.find("float16"), 7, "float17");
  says(line, {":1:", "float17", "bfloat16"});
  line = kTableLine;
  line.replace(line.find("\"shape\":[1,2,3,4]"), 17, "\"shape\":\"none\"   ");
  says(line, {":1:", "\"shape\" was \"none\""});
  // 1e80 was once converted to an integer, which no language rule says what to make of.
  says(R"({"id":"p","cls":"c","nd":1,"N":1e80,"Ci":4,"Co":6,"in":[45],"k":[3]})", {":1:", "\"N\" was 1e+80"});
  EXPECT_THROW(ReadCaseList("/nonexistent/list.txt", {}), BadInput);
}

}  // namespace
}  // namespace canopy::tools
