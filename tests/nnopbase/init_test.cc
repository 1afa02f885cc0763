// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "aclnn/aclnn_base.h"
#include "tests/nnopbase/support.h"

namespace canopy::nnopbase {
namespace {

TEST(Init, SucceedsAnyNumberOfTimesWithAnyPath) {
  EXPECT_EQ(aclnnInit(nullptr), 0);
  EXPECT_EQ(aclnnInit(""), 0);
  EXPECT_EQ(aclnnInit("/no/such/file"), 0);
  EXPECT_EQ(aclnnFinalize(), 0);
  EXPECT_EQ(aclnnFinalize(), 0);
}

TEST(Init, HandlesOutliveFinalize) {
  aclTensor* tensor = MakeTensor({1});
  EXPECT_EQ(aclnnFinalize(), 0);
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

TEST(Dump, ChecksItsArgumentsOnly) {
  aclTensor* tensors[] = {nullptr};
  EXPECT_EQ(aclDumpOpTensors("type", "name", tensors, 1, 0, nullptr), 0);
  EXPECT_EQ(aclDumpOpTensors(nullptr, "name", tensors, 1, 0, nullptr), kNullPointer);
  EXPECT_TRUE(Mentions(TakeMessages(), "opType"));
  EXPECT_EQ(aclDumpOpTensors("type", nullptr, tensors, 1, 0, nullptr), kNullPointer);
  EXPECT_EQ(aclDumpOpTensors("type", "name", nullptr, 1, 0, nullptr), kNullPointer);
  TakeMessages();
}

template <typename Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

TEST(Hooks, AreFoundByName) {
  auto* init = Find<int(void*, bool)>("InitHugeMemThreadLocal");
  auto* uninit = Find<void(void*, bool)>("UnInitHugeMemThreadLocal");
  auto* release = Find<void(void*, bool)>("ReleaseHugeMem");
  auto* reselect = Find<aclnnStatus()>("aclnnReselectStaticKernel");
  auto* reselect_path = Find<aclnnStatus(const char*)>("aclnnReselectStaticKernelWithPath");
  ASSERT_TRUE(init && uninit && release && reselect && reselect_path);
  EXPECT_EQ(init(nullptr, false), 0);
  uninit(nullptr, false);
  release(nullptr, false);
  EXPECT_EQ(reselect(), 0);
  EXPECT_EQ(reselect_path(nullptr), 0);
}

// Clients use the executor cache when they find any of it.
TEST(Hooks, OfTheExecutorCacheAreAbsent) {
  for (const char* name :
       {"InitPTACacheThreadLocal", "UnInitPTACacheThreadLocal", "SetPTAHashKey", "SetPTACacheHashKey",
        "AddTensorAddrToCachedList", "CanUsePTACache", "PTAGetExecCache", "PTAFindExecCache"}) {
    EXPECT_EQ(dlsym(RTLD_DEFAULT, name), nullptr) << name;
  }
}

}  // namespace
}  // namespace canopy::nnopbase
