// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <gtest/gtest.h>

namespace canopy::base {
namespace {

TEST(Status, IsASuccessUnlessMadeAFailure) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().code(), 0);
  const Status failure(161002, "groups is 0; allowed are 1 and more");
  EXPECT_FALSE(failure.ok());
  EXPECT_EQ(failure.code(), 161002);
  EXPECT_EQ(failure.message(), "groups is 0; allowed are 1 and more");
}

TEST(ReturnIfError, ReturnsTheFirstFailure) {
  int reached = 0;
  const auto steps = [&reached](int fail_at) -> Status {
    for (int step = 0; step < 3; ++step) {
      reached = step;
      CANOPY_RETURN_IF_ERROR(step == fail_at ? Status(step + 1, "") : Status());
    }
    return Status();
  };
  EXPECT_EQ(steps(1).code(), 2);
  EXPECT_EQ(reached, 1);
  EXPECT_TRUE(steps(-1).ok());
  EXPECT_EQ(reached, 2);
}

}  // namespace
}  // namespace canopy::base
