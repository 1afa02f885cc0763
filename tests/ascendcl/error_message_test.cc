// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/error_message.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <string>
#include <thread>

#include "tests/ascendcl/runtime_fixture.h"

namespace canopy::ascendcl {
namespace {

class ErrorMessageTest : public testing::Test {
 protected:
  void SetUp() override { RecentErrors(); }
};

TEST_F(ErrorMessageTest, IsNullWhereNothingFailed) { EXPECT_EQ(aclGetRecentErrMsg(), nullptr); }

TEST_F(ErrorMessageTest, HasCannsShape) {
  PushError(ErrorClass::kAclnnParameter, "Expected a proper Tensor but got null for argument input.");
  const std::string text = RecentErrors();
  const std::string head = "[PID:" + std::to_string(getpid()) + "] ";
  const std::string tail = " AclNN_Parameter_Error(EZ1001): Expected a proper Tensor but got null for argument input.";
  std::string time = "2026-01-31-23:59:59.000.000";
  ASSERT_EQ(text.size(), head.size() + time.size() + tail.size()) << text;
  EXPECT_EQ(text.substr(0, head.size()), head);
  EXPECT_EQ(text.substr(head.size() + time.size()), tail);
  for (size_t i = 0; i < time.size(); ++i) {
    const char c = text[head.size() + i];
    EXPECT_TRUE(std::isdigit(time[i]) != 0 ? std::isdigit(c) != 0 : c == time[i]) << text;
  }
}

TEST_F(ErrorMessageTest, NamesEachClass) {
  const std::pair<ErrorClass, const char*> kNames[] = {{ErrorClass::kAclnnParameter, "AclNN_Parameter_Error(EZ1001)"},
                                                       {ErrorClass::kAclnnInner, "AclNN_Inner_Error(EZ9999)"},
                                                       {ErrorClass::kRuntimeValue, "Invalid_Argument(EE1003)"},
                                                       {ErrorClass::kRuntimeHandle, "Invalid_Handle(EE1017)"},
                                                       {ErrorClass::kRuntimeOther, "Runtime_Error(EE9999)"}};
  for (const auto& [error_class, name] : kNames) {
    PushError(error_class, "text");
    EXPECT_NE(RecentErrors().find(name), std::string::npos) << name;
  }
}

TEST_F(ErrorMessageTest, PutsTheNewestFirstAndForgetsWhatItGave) {
  PushError(ErrorClass::kAclnnInner, "older");
  PushError(ErrorClass::kAclnnInner, "newer");
  const std::string text = RecentErrors();
  EXPECT_LT(text.find("newer"), text.find("older"));
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST_F(ErrorMessageTest, BelongsToItsThread) {
  std::thread([] { PushError(ErrorClass::kAclnnInner, "elsewhere"); }).join();
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST_F(ErrorMessageTest, KeepsABoundedNumberOfTexts) {
  for (int i = 0; i < 10000; ++i) PushError(ErrorClass::kAclnnInner, "number " + std::to_string(i));
  const std::string text = RecentErrors();
  EXPECT_NE(text.find("number 9999"), std::string::npos);
  EXPECT_EQ(text.find("number 9900"), std::string::npos);
}

TEST_F(ErrorMessageTest, SurvivesTheEndOfAThreadThatFails) {
  struct FailsWhenDestroyed {
    ~FailsWhenDestroyed() {
      aclrtFree(nullptr);
      EXPECT_NE(aclGetRecentErrMsg(), nullptr);
    }
  };
  std::thread([] {
    thread_local FailsWhenDestroyed object;
    (void)object;
    PushError(ErrorClass::kAclnnInner, "text");
  }).join();
}

TEST_F(ErrorMessageTest, LastErrorIsTheThreadsAndIsTakenByGet) {
  aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  uint32_t count = 0;
  EXPECT_EQ(aclrtResetDevice(1000), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);  // a success leaves it
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  std::thread([] { EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS); }).join();
  EXPECT_REFUSED(aclrtPeekAtLastError(static_cast<aclrtLastErrLevel>(1)), ACL_ERROR_INVALID_PARAM, "level");
  EXPECT_REFUSED(aclrtGetLastError(static_cast<aclrtLastErrLevel>(1)), ACL_ERROR_INVALID_PARAM, "level");
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
}

}  // namespace
}  // namespace canopy::ascendcl
