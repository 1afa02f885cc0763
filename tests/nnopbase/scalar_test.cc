// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "aclnn/acl_meta.h"
#include "tests/nnopbase/support.h"

namespace canopy::nnopbase {
namespace {

// Under the address sanitizer this shows that no more than the value is read.
TEST(Scalar, CopiesAsManyBytesAsTheTypeHas) {
  const auto one = std::make_unique<unsigned char>(1);
  const auto four = std::make_unique<float>(1.5f);
  const auto sixteen = std::make_unique<double[]>(2);
  for (const aclDataType dtype : {ACL_INT8, ACL_BOOL, ACL_HIFLOAT8, ACL_FLOAT6_E3M2, ACL_FLOAT4_E1M2, ACL_STRING}) {
    aclScalar* scalar = aclCreateScalar(one.get(), dtype);
    EXPECT_NE(scalar, nullptr);
    EXPECT_EQ(aclDestroyScalar(scalar), 0);
  }
  aclScalar* f = aclCreateScalar(four.get(), ACL_FLOAT);
  aclScalar* c = aclCreateScalar(sixteen.get(), ACL_COMPLEX128);
  EXPECT_NE(f, c);
  EXPECT_EQ(aclDestroyScalar(f), 0);
  EXPECT_EQ(aclDestroyScalar(c), 0);
}

TEST(Scalar, IsNotMadeOfNull) {
  EXPECT_EQ(aclCreateScalar(nullptr, ACL_FLOAT), nullptr);
  EXPECT_TRUE(Mentions(TakeMessages(), "value"));
}

TEST(Scalar, IsDestroyedOnce) {
  float value = 2;
  aclScalar* scalar = aclCreateScalar(&value, ACL_FLOAT);
  EXPECT_EQ(aclDestroyScalar(scalar), 0);
  EXPECT_EQ(aclDestroyScalar(scalar), kInvalid);
  EXPECT_TRUE(Mentions(TakeMessages(), "a destroyed aclScalar"));
  EXPECT_EQ(aclDestroyScalar(Foreign<aclScalar>()), kInvalid);
  EXPECT_EQ(aclDestroyScalar(nullptr), 0);
  TakeMessages();
}

}  // namespace
}  // namespace canopy::nnopbase
