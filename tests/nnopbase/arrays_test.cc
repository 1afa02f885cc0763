// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "aclnn/acl_meta.h"
#include "nnopbase/tensor_view.h"
#include "tests/nnopbase/support.h"

namespace canopy::nnopbase {
namespace {

// The three kinds of array, under one roof.
struct IntTraits {
  using Value = int64_t;
  static constexpr auto create = aclCreateIntArray;
  static constexpr auto destroy = aclDestroyIntArray;
  static constexpr auto size = aclGetIntArraySize;
};
struct FloatTraits {
  using Value = float;
  static constexpr auto create = aclCreateFloatArray;
  static constexpr auto destroy = aclDestroyFloatArray;
  static constexpr auto size = aclGetFloatArraySize;
};
struct BoolTraits {
  using Value = bool;
  static constexpr auto create = aclCreateBoolArray;
  static constexpr auto destroy = aclDestroyBoolArray;
  static constexpr auto size = aclGetBoolArraySize;
};

template <typename Traits>
class ArrayTest : public testing::Test {
 protected:
  ~ArrayTest() override { TakeMessages(); }
};
using Kinds = testing::Types<IntTraits, FloatTraits, BoolTraits>;
TYPED_TEST_SUITE(ArrayTest, Kinds);

TYPED_TEST(ArrayTest, KnowsItsSize) {
  const std::array<typename TypeParam::Value, 40> values{};
  for (const uint64_t size : {1, 3, kMaxArray, kMaxArray + 1, 40}) {
    auto* array = TypeParam::create(values.data(), size);
    ASSERT_NE(array, nullptr);
    uint64_t got = 0;
    EXPECT_EQ(TypeParam::size(array, &got), 0);
    EXPECT_EQ(got, size);
    EXPECT_EQ(TypeParam::destroy(array), 0);
  }
  EXPECT_EQ(TakeMessages(), "");
}

TYPED_TEST(ArrayTest, IsEmptyWithoutValuesOrSize) {
  const typename TypeParam::Value value{};
  for (auto* array : {TypeParam::create(nullptr, 5), TypeParam::create(&value, 0), TypeParam::create(nullptr, 0)}) {
    ASSERT_NE(array, nullptr);
    uint64_t got = 9;
    EXPECT_EQ(TypeParam::size(array, &got), 0);
    EXPECT_EQ(got, 0u);
    EXPECT_EQ(TypeParam::destroy(array), 0);
  }
}

TYPED_TEST(ArrayTest, IsNotMadeWhereNoMemoryHoldsIt) {
  const typename TypeParam::Value value{};
  EXPECT_EQ(TypeParam::create(&value, ~uint64_t{0}), nullptr);
  EXPECT_TRUE(Mentions(TakeMessages(), "no memory"));
}

TYPED_TEST(ArrayTest, IsDestroyedOnce) {
  const typename TypeParam::Value value{};
  auto* array = TypeParam::create(&value, 1);
  EXPECT_EQ(TypeParam::destroy(array), 0);
  EXPECT_EQ(TypeParam::destroy(array), kInvalid);
  EXPECT_TRUE(Mentions(TakeMessages(), "a destroyed acl"));
  EXPECT_EQ(TypeParam::destroy(nullptr), 0);
  uint64_t size = 0;
  EXPECT_EQ(TypeParam::size(array, &size), kInvalid);
}

TYPED_TEST(ArrayTest, SizeRefusesNullsAndOtherHandles) {
  const typename TypeParam::Value value{};
  auto* array = TypeParam::create(&value, 1);
  using Handle = std::remove_pointer_t<decltype(array)>;
  uint64_t size = 0;
  EXPECT_EQ(TypeParam::size(nullptr, &size), kNullPointer);
  EXPECT_EQ(TypeParam::size(array, nullptr), kNullPointer);
  EXPECT_EQ(TypeParam::size(Foreign<Handle>(), &size), kInvalid);
  EXPECT_EQ(TypeParam::destroy(Foreign<Handle>()), kInvalid);
  aclTensor* tensor = MakeTensor({1});
  EXPECT_EQ(TypeParam::size(reinterpret_cast<Handle*>(tensor), &size), kInvalid);
  EXPECT_TRUE(Mentions(TakeMessages(), "an aclTensor"));
  EXPECT_EQ(TypeParam::destroy(array), 0);
  EXPECT_EQ(aclDestroyTensor(tensor), 0);
}

TEST(IntArray, IsReadWithItsTrueSize) {
  std::vector<int64_t> values(kMaxArray + 5);
  std::iota(values.begin(), values.end(), 100);
  aclIntArray* array = aclCreateIntArray(values.data(), values.size());
  values[0] = 0;  // the values were copied
  IntArrayView view;
  ASSERT_TRUE(ReadIntArray(array, &view));
  EXPECT_EQ(view.size, kMaxArray + 5u);
  EXPECT_EQ(view.values[0], 100);
  EXPECT_EQ(view.values[kMaxArray - 1], 100 + kMaxArray - 1);
  EXPECT_EQ(aclDestroyIntArray(array), 0);
  EXPECT_FALSE(ReadIntArray(array, &view));
}

TEST(BoolArray, IsRead) {
  const bool values[] = {true, false, true};
  aclBoolArray* array = aclCreateBoolArray(values, 3);
  BoolArrayView view;
  ASSERT_TRUE(ReadBoolArray(array, &view));
  EXPECT_EQ(view.size, 3u);
  EXPECT_TRUE(view.values[0]);
  EXPECT_FALSE(view.values[1]);
  EXPECT_TRUE(view.values[2]);
  EXPECT_EQ(aclDestroyBoolArray(array), 0);
  EXPECT_FALSE(ReadBoolArray(array, &view));
}

}  // namespace
}  // namespace canopy::nnopbase
