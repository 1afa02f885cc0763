// SPDX-License-Identifier: Apache-2.0
#include "nnopbase/inline_array.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

namespace canopy::nnopbase {
namespace {

TEST(InlineArray, KeepsShortAndLongValues) {
  for (const uint64_t size : {0, 1, 7, 8, 9, 100}) {
    std::vector<int64_t> values(size);
    std::iota(values.begin(), values.end(), 5);
    InlineArray<int64_t, 8> array;
    ASSERT_TRUE(array.Assign(values.data(), size));
    EXPECT_EQ(std::vector<int64_t>(array.begin(), array.end()), values);
    const InlineArray<int64_t, 8> moved = std::move(array);
    EXPECT_EQ(std::vector<int64_t>(moved.begin(), moved.end()), values);
  }
}

TEST(InlineArray, ShrinksBackInPlace) {
  const std::vector<int64_t> values(20, 3);
  InlineArray<int64_t, 4> array;
  ASSERT_TRUE(array.Assign(values.data(), 20));
  const int64_t one = 9;
  ASSERT_TRUE(array.Assign(&one, 1));
  EXPECT_EQ(array.size(), 1u);
  EXPECT_EQ(array[0], 9);
}

TEST(InlineArray, RefusesSizesThatNoMemoryHolds) {
  InlineArray<int64_t, 4> array;
  EXPECT_EQ(array.Reset(~uint64_t{0}), nullptr);
  EXPECT_EQ(array.Reset(uint64_t{1} << 61), nullptr) << "bytes wrap around";
  EXPECT_EQ(array.size(), 0u);
}

}  // namespace
}  // namespace canopy::nnopbase
