// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "aclnn/acl_meta.h"
#include "nnopbase/tensor_view.h"
#include "tests/nnopbase/support.h"

namespace canopy::nnopbase {
namespace {

class ListTest : public testing::Test {
 protected:
  ~ListTest() override { TakeMessages(); }

  static bool Alive(const aclTensor* tensor) {
    TensorView view;
    return ReadTensor(tensor, &view);
  }
};

TEST_F(ListTest, DestroysItsTensors) {
  std::vector<const aclTensor*> members;
  for (int i = 0; i < 20; ++i) members.push_back(MakeTensor({i}));
  const std::vector<const aclTensor*> copy = members;
  aclTensorList* list = aclCreateTensorList(members.data(), members.size());
  members.assign(20, nullptr);  // the pointers were copied
  uint64_t size = 0;
  EXPECT_EQ(aclGetTensorListSize(list, &size), 0);
  EXPECT_EQ(size, 20u);
  EXPECT_EQ(aclDestroyTensorList(list), 0);
  for (const aclTensor* tensor : copy) EXPECT_FALSE(Alive(tensor));
  EXPECT_EQ(TakeMessages(), "");
}

TEST_F(ListTest, DestroysItsScalars) {
  float value = 1;
  const aclScalar* members[] = {aclCreateScalar(&value, ACL_FLOAT), aclCreateScalar(&value, ACL_FLOAT)};
  aclScalarList* list = aclCreateScalarList(members, 2);
  uint64_t size = 0;
  EXPECT_EQ(aclGetScalarListSize(list, &size), 0);
  EXPECT_EQ(size, 2u);
  EXPECT_EQ(aclDestroyScalarList(list), 0);
  EXPECT_EQ(aclDestroyScalar(members[0]), kInvalid) << "the list destroyed it";
}

TEST_F(ListTest, MayBeEmptyOrHoldNulls) {
  const aclTensor* const nothing[] = {nullptr};
  for (aclTensorList* list : {aclCreateTensorList(nullptr, 3), aclCreateTensorList(nothing, 0)}) {
    uint64_t size = 9;
    EXPECT_EQ(aclGetTensorListSize(list, &size), 0);
    EXPECT_EQ(size, 0u);
    EXPECT_EQ(aclDestroyTensorList(list), 0);
  }
  aclTensorList* list = aclCreateTensorList(nothing, 1);
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(aclDestroyTensorList(list), 0);
}

TEST_F(ListTest, IsNotMadeOfStaleMembers) {
  aclTensor* alive = MakeTensor({1});
  aclTensor* stale = MakeTensor({1});
  aclDestroyTensor(stale);
  const aclTensor* const members[] = {alive, stale};
  EXPECT_EQ(aclCreateTensorList(members, 2), nullptr);
  EXPECT_TRUE(Mentions(TakeMessages(), "value[1] is a destroyed aclTensor"));
  EXPECT_TRUE(Alive(alive));
  EXPECT_EQ(aclDestroyTensor(alive), 0);
}

TEST_F(ListTest, ReportsAMemberThatWasDestroyedBefore) {
  const aclTensor* const members[] = {MakeTensor({1}), MakeTensor({2})};
  aclTensorList* list = aclCreateTensorList(members, 2);
  EXPECT_EQ(aclDestroyTensor(members[0]), 0);
  EXPECT_EQ(aclDestroyTensorList(list), kInvalid);
  EXPECT_FALSE(Alive(members[1])) << "the rest is destroyed all the same";
  uint64_t size = 0;
  EXPECT_EQ(aclGetTensorListSize(list, &size), kInvalid) << "and so is the list";
}

TEST_F(ListTest, IsDestroyedOnce) {
  aclTensorList* tensors = aclCreateTensorList(nullptr, 0);
  EXPECT_EQ(aclDestroyTensorList(tensors), 0);
  EXPECT_EQ(aclDestroyTensorList(tensors), kInvalid);
  EXPECT_EQ(aclDestroyTensorList(Foreign<aclTensorList>()), kInvalid);
  EXPECT_EQ(aclDestroyTensorList(nullptr), 0);
  aclScalarList* scalars = aclCreateScalarList(nullptr, 0);
  EXPECT_EQ(aclDestroyScalarList(reinterpret_cast<aclScalarList*>(tensors)), kInvalid);
  EXPECT_EQ(aclDestroyScalarList(scalars), 0);
  EXPECT_EQ(aclDestroyScalarList(scalars), kInvalid);
  EXPECT_EQ(aclDestroyScalarList(nullptr), 0);
}

TEST_F(ListTest, SizeRefusesNulls) {
  aclTensorList* list = aclCreateTensorList(nullptr, 0);
  uint64_t size = 0;
  EXPECT_EQ(aclGetTensorListSize(nullptr, &size), kNullPointer);
  EXPECT_EQ(aclGetTensorListSize(list, nullptr), kNullPointer);
  EXPECT_EQ(aclGetScalarListSize(nullptr, &size), kNullPointer);
  EXPECT_EQ(aclGetScalarListSize(reinterpret_cast<aclScalarList*>(list), &size), kInvalid);
  EXPECT_EQ(aclDestroyTensorList(list), 0);
}

}  // namespace
}  // namespace canopy::nnopbase
