// SPDX-License-Identifier: Apache-2.0
// The rules of every operator against the tables, for every product, without handles or an engine.
#include <gtest/gtest.h>

#include <set>

#include "tests/opapi/rule_table.h"

namespace canopy::tests {
namespace {

template <class Arguments>
struct OperatorRules {
  const char* folder;
  std::span<const opapi::Rule<Arguments>> (*rules)();
  Arguments (*from_call)(const conv::Call&);
};

template <class Arguments>
void CheckLine(const OperatorRules<Arguments>& op, const RuleLine& line) {
  const Arguments arguments = ArgumentsOf(line, op.from_call);
  for (const std::string& name : line.on) {
    const opapi::Verdict verdict =
        opapi::Walk(op.rules(), arguments, &ProductOf(name), {.documented_limits = line.documented_limits});
    EXPECT_EQ(verdict.status.code(), line.code) << line.where << " on " << name << ": " << verdict.status.message();
    if (verdict.status.code() != line.code || line.code == 0) continue;
    EXPECT_EQ(verdict.rule, line.rule) << line.where << " on " << name << ": " << verdict.status.message();
    for (const std::string& word : line.words) {
      EXPECT_NE(verdict.status.message().find(word), std::string::npos)
          << line.where << " on " << name << ": \"" << verdict.status.message() << "\" lacks \"" << word << "\"";
    }
  }
}

// Every rule that can refuse has a call that it refuses and one that it is about and lets pass.
template <class Arguments>
void CheckCoverage(const OperatorRules<Arguments>& op, const std::vector<RuleLine>& lines) {
  std::set<std::string> refused, accepted, known;
  for (const RuleLine& line : lines) (line.code == 0 ? accepted : refused).insert(line.rule);
  for (const opapi::Rule<Arguments>& rule : op.rules()) {
    known.insert(rule.name);
    if (rule.kind == opapi::RuleKind::kRemark) continue;
    EXPECT_TRUE(refused.contains(rule.name)) << op.folder << ": no refused call for " << rule.name;
    EXPECT_TRUE(accepted.contains(rule.name)) << op.folder << ": no accepted call for " << rule.name;
  }
  for (const RuleLine& line : lines) EXPECT_TRUE(known.contains(line.rule)) << line.where << ": no rule " << line.rule;
}

template <class Arguments>
void CheckOperator(const OperatorRules<Arguments>& op) {
  const std::vector<RuleLine> lines = ReadRuleLines(op.folder);
  size_t calls = 0;
  for (const RuleLine& line : lines) {
    CheckLine(op, line);
    calls += line.on.size();
  }
  CheckCoverage(op, lines);
  testing::Test::RecordProperty("rules", static_cast<int>(op.rules().size()));
  testing::Test::RecordProperty("lines", static_cast<int>(lines.size()));
  testing::Test::RecordProperty("calls", static_cast<int>(calls));
}

TEST(RulesTest, ConvolutionBackwardKeepsItsTable) {
  namespace op = opapi::convolution_backward;
  CheckOperator<op::Arguments>({"convolution_backward", &op::Rules, &op::FromCall});
}

TEST(RulesTest, ConvTbcBackwardKeepsItsTable) {
  namespace op = opapi::conv_tbc_backward;
  CheckOperator<op::Arguments>({"conv_tbc_backward", &op::Rules, &op::FromCall});
}

TEST(RulesTest, ConvolutionKeepsItsTable) {
  namespace op = opapi::convolution;
  CheckOperator<op::Arguments>({"convolution", &op::Rules, &op::FromCall});
}

TEST(RulesTest, ConvTbcKeepsItsTable) {
  namespace op = opapi::conv_tbc;
  CheckOperator<op::Arguments>({"conv_tbc", &op::Rules, &op::FromCall});
}

TEST(RulesTest, ConvDepthwise2dKeepsItsTable) {
  namespace op = opapi::conv_depthwise2d;
  CheckOperator<op::Arguments>({"conv_depthwise2d", &op::Rules, &op::FromCall});
}

TEST(RulesTest, AnUnknownProductIsRefusedAfterNullArguments) {
  namespace op = opapi::convolution_backward;
  conv::Call call;
  ASSERT_TRUE(conv::ParseCall("conv_backward f32 n1 ci1 co1 in4x4 k3", &call).ok());
  op::Arguments arguments = op::FromCall(call);
  opapi::Verdict verdict = opapi::Walk(op::Rules(), arguments, nullptr, {});
  EXPECT_EQ(verdict.status.code(), 161002);
  EXPECT_NE(verdict.status.message().find("Ascend910B1"), std::string::npos) << verdict.status.message();
  EXPECT_NE(verdict.status.message().find("CANOPY_SOC"), std::string::npos);
  arguments.input.state = opapi::Handle::kNull;
  verdict = opapi::Walk(op::Rules(), arguments, nullptr, {});
  EXPECT_EQ(verdict.status.code(), 161001);
}

TEST(RulesTest, AllChipsOfAFamilyAnswerAlike) {
  namespace op = opapi::convolution;
  conv::Call call;
  ASSERT_TRUE(conv::ParseCall("conv_forward f16 n1 ci1 co1 in4x4x4 k3 transposed", &call).ok());
  const op::Arguments arguments = op::FromCall(call);
  for (const char* name : {"Ascend910A", "Ascend910B", "Ascend310P1", "Ascend910B4-1", "Ascend910_9391"}) {
    EXPECT_TRUE(opapi::Walk(op::Rules(), arguments, product::FindProduct(name), {}).status.ok()) << name;
  }
  EXPECT_EQ(opapi::Walk(op::Rules(), arguments, product::FindProduct("Ascend310B4"), {}).status.code(), 161002);
}

}  // namespace
}  // namespace canopy::tests
