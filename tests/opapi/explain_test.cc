// SPDX-License-Identifier: Apache-2.0
#include "opapi/explain.h"

#include <gtest/gtest.h>

namespace canopy::opapi {
namespace {

Explanation ExplainOn(const char* soc, const char* text) {
  conv::Call call;
  EXPECT_TRUE(conv::ParseCall(text, &call).ok()) << text;
  const product::Product* product = product::FindProduct(soc);
  EXPECT_NE(product, nullptr) << soc;
  return Explain(call, *product);
}

constexpr const char* kVolume = "conv_backward f32 n1 ci8 co8 in8x8x8 k3 p1 math1";

TEST(ExplainTest, ARefusalNamesTheRuleTheArgumentAndTheProduct) {
  const Explanation explanation = ExplainOn("Ascend310P3", kVolume);
  EXPECT_EQ(explanation.code, 161002);
  EXPECT_FALSE(explanation.refusal.rule.empty());
  EXPECT_FALSE(explanation.refusal.says.empty());
  EXPECT_NE(explanation.refusal.message.find("allowed is"), std::string::npos);
  EXPECT_TRUE(explanation.plan.empty());
}

TEST(ExplainTest, AnAcceptedCallSaysWhatIsRoundedAndWhatWouldRun) {
  const Explanation a2 = ExplainOn("Ascend910B1", kVolume), a5 = ExplainOn("Ascend950", kVolume);
  EXPECT_EQ(a2.code, 0);
  ASSERT_EQ(a2.precision.size(), 6u);
  EXPECT_NE(a2.precision[0].find("HF32 with 11 mantissa bits"), std::string::npos) << a2.precision[0];
  EXPECT_NE(a5.precision[0].find("HF32 with 10 mantissa bits"), std::string::npos) << a5.precision[0];
  EXPECT_NE(a2.plan.find("backward weights: "), std::string::npos);
}

TEST(ExplainTest, AResultIsSaidToBeRoundedAsItsTypeIs) {
  // HIFLOAT8 was said to round to even, FLOAT8_E4M3FN to overflow to Inf.
  const struct {
    const char* soc;
    const char* text;
    const char* says;
  } kRows[] = {
      {"Ascend950", "conv_backward hif8 ci4 co4 in5x5 k3 transposed mask100", "ties away from 0; overflow gives Inf"},
      {"Ascend950", "conv_backward f8e4m3 ci4 co4 in5x5 k3 transposed mask100", "to nearest even; overflow gives 448"},
      {"Ascend310P", "conv_forward f16 ci4 co4 in5x5 k3", "to nearest even; overflow gives the greatest value, NaN 0"},
      {"Ascend910B1", "tbc_forward bf16 t9 b2 ci4 co4 k3", "to nearest even; overflow gives Inf"},
  };
  for (const auto& row : kRows) {
    const Explanation explanation = ExplainOn(row.soc, row.text);
    ASSERT_FALSE(explanation.precision.empty()) << row.text;
    EXPECT_NE(explanation.precision.back().find(row.says), std::string::npos) << explanation.precision.back();
  }
}

TEST(ExplainTest, ALimitOfTheDeviceIsListedAndDoesNotRefuse) {
  const Explanation explanation = ExplainOn("Ascend910B1", "conv_backward f32 n1 ci8 co8 in8x8 k3 p300");
  EXPECT_EQ(explanation.code, 0);
  ASSERT_EQ(explanation.limits.size(), 1u);
  EXPECT_NE(explanation.limits[0].message.find("was 300"), std::string::npos) << explanation.limits[0].message;
}

TEST(ExplainTest, WhatARuleDemandsIsNoRemark) {
  // HIFLOAT8 demands a FLOAT gradWeight; a remark asked for HIFLOAT8, which is refused.
  const Explanation explanation =
      ExplainOn("Ascend950", "conv_backward hif8 ci4 co4 in5x5 k3 transposed mask110 grad_weight:f32");
  EXPECT_EQ(explanation.code, 0);
  EXPECT_TRUE(explanation.remarks.empty()) << explanation.remarks[0].message;
}

TEST(ExplainTest, EveryOperatorOfTheTextFormCanBeAsked) {
  for (const char* text : {"conv_backward f32 n1 ci4 co4 in8x8 k3", "tbc_backward f32 t9 b2 ci4 co4 k3",
                           "conv_forward f32 n1 ci4 co4 in8x8 k3", "tbc_forward f32 t9 b2 ci4 co4 k3"}) {
    EXPECT_EQ(ExplainOn("Ascend910B1", text).code, 0) << text;
  }
}

}  // namespace
}  // namespace canopy::opapi
