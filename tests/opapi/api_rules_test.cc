// SPDX-License-Identifier: Apache-2.0
// The same tables through the C functions, for the product that CANOPY_SOC names and the limits that CANOPY_LIMITS asks
// for; run once for each. Refused calls leave both results alone and file the message.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/opapi/api_call.h"
#include "tests/opapi/device.h"

namespace canopy::tests {
namespace {

class ApiRulesTest : public DeviceTest {
 protected:
  template <class Arguments>
  void CheckLine(const RuleLine& line, Arguments (*from_call)(const conv::Call&)) {
    Arguments arguments = ArgumentsOf(line, from_call);
    const opapi::ResultPointers results = *TableOf(&arguments).results;
    auto* const no_executor = reinterpret_cast<aclOpExecutor*>(this);
    uint64_t workspace_size = 12345;
    aclOpExecutor* executor = no_executor;
    const aclnnStatus status = PhaseOneOf(&arguments, results.workspace_size ? &workspace_size : nullptr,
                                          results.executor ? &executor : nullptr);
    const std::string message = RecentMessage();
    EXPECT_EQ(status, line.code) << line.where << ": " << message;
    if (status == 0) {
      EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0) << line.where;
      return;
    }
    EXPECT_EQ(workspace_size, 12345u) << line.where;
    EXPECT_EQ(executor, no_executor) << line.where;
    EXPECT_NE(message.find("aclnn"), std::string::npos) << line.where << ": " << message;
    for (const std::string& word : line.words) {
      EXPECT_NE(message.find(word), std::string::npos) << line.where << ": \"" << message << "\" lacks " << word;
    }
  }

  template <class Arguments>
  void CheckTable(const char* folder, Arguments (*from_call)(const conv::Call&)) {
    const bool documented = std::getenv("CANOPY_LIMITS") != nullptr;
    int calls = 0;
    for (const RuleLine& line : ReadRuleLines(folder)) {
      bool ours = false;
      for (const std::string& name : line.on) ours |= &ProductOf(name) == product::CurrentProduct();
      if (!ours || line.documented_limits != documented) continue;
      CheckLine(line, from_call);
      ++calls;
    }
    RecordProperty("calls", calls);
  }
};

TEST_F(ApiRulesTest, ConvolutionBackwardKeepsItsTable) {
  CheckTable("convolution_backward", &opapi::convolution_backward::FromCall);
}
TEST_F(ApiRulesTest, ConvTbcBackwardKeepsItsTable) {
  CheckTable("conv_tbc_backward", &opapi::conv_tbc_backward::FromCall);
}
TEST_F(ApiRulesTest, ConvolutionKeepsItsTable) { CheckTable("convolution", &opapi::convolution::FromCall); }
TEST_F(ApiRulesTest, ConvTbcKeepsItsTable) { CheckTable("conv_tbc", &opapi::conv_tbc::FromCall); }
TEST_F(ApiRulesTest, ConvDepthwise2dKeepsItsTable) {
  CheckTable("conv_depthwise2d", &opapi::conv_depthwise2d::FromCall);
}

}  // namespace
}  // namespace canopy::tests
