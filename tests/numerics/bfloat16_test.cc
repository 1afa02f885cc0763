// SPDX-License-Identifier: Apache-2.0
#include "numerics/bfloat16.h"

#include <gtest/gtest.h>

#include "tests/numerics/nearest.h"

namespace canopy::numerics {
namespace {

// (-1)^s * 2^(e - 127) * (1 + m / 128), and 2^-126 * m / 128 for exponent field 0.
double Value(uint32_t magnitude) {
  const int exponent = static_cast<int>(magnitude >> 7);
  const double mantissa = (magnitude & 0x7F) / 128.0;
  return exponent == 0 ? std::ldexp(mantissa, -126) : std::ldexp(1 + mantissa, exponent - 127);
}

std::vector<Code> Positive() {
  std::vector<Code> codes;
  for (uint32_t bits = 0; bits <= 0x7F80; ++bits) codes.push_back({Value(bits), bits});  // 0x7F80: 2^128, means Inf
  return codes;
}

TEST(BFloat16, EveryFiniteCodeHasItsValueAndComesBack) {
  for (uint32_t magnitude = 0; magnitude < 0x7F80; ++magnitude) {
    for (const uint32_t sign : {0u, 0x8000u}) {
      const uint16_t code = static_cast<uint16_t>(sign | magnitude);
      const float value = BFloat16ToFloat(code);
      ASSERT_EQ(static_cast<double>(value), sign != 0 ? -Value(magnitude) : Value(magnitude)) << std::hex << code;
      ASSERT_EQ(std::signbit(value), sign != 0) << std::hex << code;
      ASSERT_EQ(FloatToBFloat16(value), code) << std::hex << code;
      ASSERT_EQ(FloatToBFloat16(value, true), code) << std::hex << code;
    }
  }
}

TEST(BFloat16, EveryRoundingBoundaryGoesToNearestEven) {
  const std::vector<Code> codes = Positive();
  ForEveryBoundary(codes, [&](float value) {
    if (!std::isfinite(value)) return;  // beyond the last code lies no FP32 number
    const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
    const uint32_t want = sign | Nearest(codes, std::fabs(static_cast<double>(value)), Ties::kEvenCode);
    ASSERT_EQ(FloatToBFloat16(value), want) << std::hexfloat << value;
    const uint32_t saturated = (want & 0x7FFF) == 0x7F80 ? sign | 0x7F7F : want;
    ASSERT_EQ(FloatToBFloat16(value, true), saturated) << std::hexfloat << value;
  });
}

TEST(BFloat16, AStridedWalkThroughAllPatternsRoundsToNearestEven) {
  const std::vector<Code> codes = Positive();
  for (uint64_t pattern = 0; pattern < kFloatInf; pattern += 1013) {
    const float value = FromBits(static_cast<uint32_t>(pattern));
    ASSERT_EQ(FloatToBFloat16(value), Nearest(codes, value, Ties::kEvenCode)) << std::hexfloat << value;
  }
}

TEST(BFloat16, OverflowGivesInfOrTheGreatestValue) {
  EXPECT_EQ(FloatToBFloat16(FromBits(0x7F7F7FFF)), 0x7F7F);
  EXPECT_EQ(FloatToBFloat16(FromBits(0x7F7F8000)), 0x7F80);
  EXPECT_EQ(FloatToBFloat16(FromBits(0xFF7FFFFF)), 0xFF80);
  EXPECT_EQ(FloatToBFloat16(FromBits(0x7F7F8000), true), 0x7F7F);
  EXPECT_EQ(FloatToBFloat16(FromBits(kFloatInf)), 0x7F80);
  EXPECT_EQ(FloatToBFloat16(FromBits(kFloatInf | kFloatSign), true), 0xFF7F);
}

TEST(BFloat16, EveryNanGivesTheOneNanAndSaturatesToZero) {
  for (const uint32_t nan : {0x7F800001u, 0x7FC00000u, 0x7FFFFFFFu, 0xFF800001u, 0xFFC00000u, 0xFFFFFFFFu}) {
    EXPECT_EQ(FloatToBFloat16(FromBits(nan)), 0x7FC0) << std::hex << nan;
    EXPECT_EQ(FloatToBFloat16(FromBits(nan), true), 0) << std::hex << nan;
  }
  EXPECT_EQ(ToBits(BFloat16ToFloat(0xFF81)), 0xFF810000u);
}

}  // namespace
}  // namespace canopy::numerics
