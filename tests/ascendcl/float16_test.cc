// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "acl/acl.h"

namespace {

// The meaning of the 16 bits where no exponent is special.
double Meaning(uint32_t bits) {
  const int exponent = bits >> 10 & 31;
  const double mantissa = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1 + mantissa / 1024, exponent - 15);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Float16ToFloat, IsExactForEveryCodeWithExponent31AnOrdinaryOne) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const float value = aclFloat16ToFloat(static_cast<aclFloat16>(bits));
    ASSERT_EQ(static_cast<double>(value), Meaning(bits)) << bits;
    ASSERT_EQ(std::signbit(value), bits >> 15 != 0) << bits;
  }
  EXPECT_EQ(aclFloat16ToFloat(0x7C00), 65536.0F);
  EXPECT_EQ(aclFloat16ToFloat(0xFC00), -65536.0F);
  EXPECT_EQ(aclFloat16ToFloat(0x7E00), 98304.0F);
}

TEST(FloatToFloat16, ReturnsEveryFiniteCodeToItself) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    if ((bits & 0x7C00) == 0x7C00) continue;
    ASSERT_EQ(aclFloatToFloat16(static_cast<float>(Meaning(bits))), bits);
  }
}

TEST(FloatToFloat16, RoundsToNearestWithTiesToEvenBetweenAllNeighbours) {
  for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const float low = static_cast<float>(Meaning(bits));
    const float high = static_cast<float>(Meaning(bits + 1));
    const float middle = low + (high - low) / 2;  // exact: one bit more
    const uint32_t even = (bits & 1) == 0 ? bits : bits + 1;
    ASSERT_EQ(aclFloatToFloat16(middle), even) << bits;
    ASSERT_EQ(aclFloatToFloat16(std::nextafter(middle, low)), bits) << bits;
    ASSERT_EQ(aclFloatToFloat16(std::nextafter(middle, high)), bits + 1) << bits;
    ASSERT_EQ(aclFloatToFloat16(-middle), even | 0x8000) << bits;
  }
}

TEST(FloatToFloat16, SaturatesWhatIsTooLargeInfiniteOrNoNumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float large : {65504.0F, 65519.0F, 65520.0F, 65536.0F, 1e30F, infinity}) {
    EXPECT_EQ(aclFloatToFloat16(large), 0x7BFF) << large;
    EXPECT_EQ(aclFloatToFloat16(-large), 0xFBFF) << large;
  }
  EXPECT_EQ(aclFloatToFloat16(std::bit_cast<float>(0x7FC00000U)), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(std::bit_cast<float>(0xFFC00001U)), 0xFBFF);
}

TEST(FloatToFloat16, RoundsTheSmallestToOneStepOrToASignedZero) {
  EXPECT_EQ(aclFloatToFloat16(std::bit_cast<float>(0x33000000U)), 0x0000);  // exponent field 0x66, half a step: even
  EXPECT_EQ(aclFloatToFloat16(std::bit_cast<float>(0x33000001U)), 0x0001);
  EXPECT_EQ(aclFloatToFloat16(std::bit_cast<float>(0xB3000001U)), 0x8001);
  EXPECT_EQ(aclFloatToFloat16(std::bit_cast<float>(0x32FFFFFFU)), 0x0000);
  EXPECT_EQ(aclFloatToFloat16(-0.0F), 0x8000);
  EXPECT_EQ(aclFloatToFloat16(-1e-30F), 0x8000);
  EXPECT_EQ(aclFloatToFloat16(std::numeric_limits<float>::denorm_min()), 0x0000);
}

}  // namespace
