// SPDX-License-Identifier: Apache-2.0
#include "base/env.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace canopy::base {
namespace {

constexpr const char* kName = "CANOPY_TEST_VARIABLE";

class EnvTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv(kName); }
};

TEST_F(EnvTest, TextFallsBackWhereUnsetOrEmpty) {
  EXPECT_EQ(EnvText(kName, "fallback"), "fallback");
  setenv(kName, "", 1);
  EXPECT_EQ(EnvText(kName, "fallback"), "fallback");
  setenv(kName, "text", 1);
  EXPECT_EQ(EnvText(kName, "fallback"), "text");
}

TEST_F(EnvTest, IntTakesWholeNumbersInTheRange) {
  EXPECT_EQ(EnvInt(kName, 1, 9, 5), 5);
  for (const int64_t number : {1, 9}) {
    setenv(kName, std::to_string(number).c_str(), 1);
    EXPECT_EQ(EnvInt(kName, 1, 9, 5), number);
  }
  setenv(kName, "-3", 1);
  EXPECT_EQ(EnvInt(kName, -5, 9, 5), -3);
}

TEST_F(EnvTest, IntFallsBackForAnythingElse) {
  for (const char* wrong : {"0", "10", "x", "3x", "3.5", " ", "99999999999999999999999"}) {
    setenv(kName, wrong, 1);
    EXPECT_EQ(EnvInt(kName, 1, 9, 5), 5) << wrong;
  }
}

}  // namespace
}  // namespace canopy::base
