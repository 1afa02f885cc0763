// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "aclnn/acl_meta.h"
#include "tests/nnopbase/fake_run.h"
#include "tests/nnopbase/support.h"

namespace canopy::nnopbase {
namespace {

using Setter = aclnnStatus (*)(aclOpExecutor*, size_t, aclTensor*, void*);
using ListSetter = aclnnStatus (*)(aclOpExecutor*, size_t, size_t, aclTensorList*, void*);

constexpr Setter kSetters[] = {aclSetInputTensorAddr, aclSetOutputTensorAddr, aclSetTensorAddr,
                               AclSetInputTensorAddr, AclSetOutputTensorAddr, AclSetTensorAddr};
constexpr ListSetter kListSetters[] = {aclSetDynamicInputTensorAddr,  aclSetDynamicOutputTensorAddr,
                                       aclSetDynamicTensorAddr,       AclSetDynamicInputTensorAddr,
                                       AclSetDynamicOutputTensorAddr, AclSetDynamicTensorAddr};

void* AddressOf(const aclTensor* tensor) {
  void* addr = nullptr;
  EXPECT_EQ(aclGetRawTensorAddr(tensor, &addr), 0);
  return addr;
}

using AddressTest = RunningTest;

TEST_F(AddressTest, ReachesTheNextRunWhateverTheIndexAndName) {
  int cells[6];
  aclTensor* tensor = MakeTensor({1});
  aclOpExecutor* executor = MakeRepeatable({tensor});
  std::vector<void*> expected;
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(kSetters[i](executor, i * 1000, tensor, &cells[i]), 0);
    EXPECT_EQ(Run(executor), 0);
    expected.push_back(&cells[i]);
  }
  EXPECT_EQ(Synchronize(), 0);
  EXPECT_EQ(FirstAddresses(), expected);
  EXPECT_EQ(TakeMessages(), "");
  aclDestroyAclOpExecutor(executor);
  aclDestroyTensor(tensor);
}

TEST_F(AddressTest, ReachesAMemberOfAList) {
  int cells[6];
  const aclTensor* members[] = {MakeTensor({1}), MakeTensor({1})};
  aclTensorList* list = aclCreateTensorList(members, 2);
  aclOpExecutor* executor = MakeRepeatable({members[1]});
  std::vector<void*> expected;
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(kListSetters[i](executor, i, 1, list, &cells[i]), 0);
    EXPECT_EQ(Run(executor), 0);
    expected.push_back(&cells[i]);
  }
  EXPECT_EQ(Synchronize(), 0);
  EXPECT_EQ(FirstAddresses(), expected);
  EXPECT_EQ(AddressOf(members[0]), nullptr);
  aclDestroyAclOpExecutor(executor);
  aclDestroyTensorList(list);
}

TEST_F(AddressTest, RefusesNullAndDestroyedTensors) {
  int cell = 0;
  aclOpExecutor* executor = MakeRepeatable();
  aclTensor* destroyed = MakeTensor({1});
  aclDestroyTensor(destroyed);
  for (const Setter set : kSetters) {
    EXPECT_EQ(set(executor, 0, nullptr, &cell), kInnerNull);
    EXPECT_TRUE(Mentions(TakeMessages(), "tensor"));
    EXPECT_EQ(set(executor, 0, destroyed, &cell), kInvalid);
    EXPECT_TRUE(Mentions(TakeMessages(), "a destroyed aclTensor"));
    EXPECT_EQ(set(executor, 0, Foreign<aclTensor>(), &cell), kInvalid);
  }
  aclDestroyAclOpExecutor(executor);
}

TEST_F(AddressTest, IsStoredBeforeTheExecutorIsLookedAt) {
  int cells[2];
  aclTensor* tensor = MakeTensor({1});
  aclOpExecutor* consumed = MakeExecutor();
  EXPECT_EQ(Run(consumed), 0);
  for (const Setter set : kSetters) {
    EXPECT_EQ(set(nullptr, 0, tensor, &cells[0]), kInnerNull);
    EXPECT_TRUE(Mentions(TakeMessages(), "executor"));
    EXPECT_EQ(AddressOf(tensor), &cells[0]);
    EXPECT_EQ(set(consumed, 0, tensor, &cells[1]), kInner);
    EXPECT_EQ(AddressOf(tensor), &cells[1]);
  }
  aclDestroyTensor(tensor);
}

TEST_F(AddressTest, RefusesBadListsAndPositions) {
  int cell = 0;
  const aclTensor* members[] = {MakeTensor({1}), nullptr};
  aclTensorList* list = aclCreateTensorList(members, 2);
  aclOpExecutor* executor = MakeRepeatable();
  for (const ListSetter set : kListSetters) {
    EXPECT_EQ(set(executor, 0, 0, nullptr, &cell), kInnerNull);
    EXPECT_EQ(set(nullptr, 0, 0, list, &cell), kInnerNull);
    EXPECT_EQ(set(executor, 0, 1, list, &cell), kInnerNull) << "the member is NULL";
    EXPECT_EQ(set(executor, 0, 2, list, &cell), kInvalid);
    EXPECT_TRUE(Mentions(TakeMessages(), "relativeIndex is 2; the list has 2 tensors"));
    EXPECT_EQ(set(executor, 0, 0, Foreign<aclTensorList>(), &cell), kInvalid);
  }
  EXPECT_EQ(aclDestroyTensor(members[0]), 0);
  EXPECT_EQ(aclSetDynamicTensorAddr(executor, 0, 0, list, &cell), kInvalid) << "the member was destroyed";
  aclDestroyAclOpExecutor(executor);
  aclDestroyTensorList(list);
  EXPECT_EQ(aclSetDynamicTensorAddr(executor, 0, 0, list, &cell), kInvalid) << "the list was destroyed";
}

}  // namespace
}  // namespace canopy::nnopbase
