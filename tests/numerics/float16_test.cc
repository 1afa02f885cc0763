// SPDX-License-Identifier: Apache-2.0
#include "numerics/float16.h"

#include <gtest/gtest.h>

#include "tests/numerics/nearest.h"

namespace canopy::numerics {
namespace {

// The format's definition: (-1)^s * 2^(e - 15) * (1 + m / 1024), and 2^-14 * m / 1024 for exponent field 0.
double Value(uint32_t magnitude) {
  const int exponent = static_cast<int>(magnitude >> 10);
  const double mantissa = (magnitude & 0x3FF) / 1024.0;
  return exponent == 0 ? std::ldexp(mantissa, -14) : std::ldexp(1 + mantissa, exponent - 15);
}

std::vector<Code> Positive() {
  std::vector<Code> codes;
  for (uint32_t bits = 0; bits <= 0x7C00; ++bits) codes.push_back({Value(bits), bits});  // 0x7C00: 65536, means Inf
  return codes;
}

TEST(Float16, EveryFiniteCodeHasItsValueAndComesBack) {
  for (uint32_t magnitude = 0; magnitude < 0x7C00; ++magnitude) {
    for (const uint32_t sign : {0u, 0x8000u}) {
      const uint16_t code = static_cast<uint16_t>(sign | magnitude);
      const float value = Float16ToFloat(code);
      ASSERT_EQ(static_cast<double>(value), sign != 0 ? -Value(magnitude) : Value(magnitude)) << std::hex << code;
      ASSERT_EQ(std::signbit(value), sign != 0) << std::hex << code;
      ASSERT_EQ(FloatToFloat16(value), code) << std::hex << code;
      ASSERT_EQ(FloatToFloat16(value, true), code) << std::hex << code;
    }
  }
}

TEST(Float16, EveryRoundingBoundaryGoesToNearestEven) {
  const std::vector<Code> codes = Positive();
  ForEveryBoundary(codes, [&](float value) {
    const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
    const uint32_t want = sign | Nearest(codes, std::fabs(static_cast<double>(value)), Ties::kEvenCode);
    ASSERT_EQ(FloatToFloat16(value), want) << std::hexfloat << value;
    const uint32_t saturated = (want & 0x7FFF) == 0x7C00 ? sign | 0x7BFF : want;
    ASSERT_EQ(FloatToFloat16(value, true), saturated) << std::hexfloat << value;
  });
}

TEST(Float16, AStridedWalkThroughAllPatternsRoundsToNearestEven) {
  const std::vector<Code> codes = Positive();
  for (uint64_t pattern = 0; pattern < kFloatInf; pattern += 1013) {  // a prime: no bit of the pattern stands still
    const float value = FromBits(static_cast<uint32_t>(pattern));
    ASSERT_EQ(FloatToFloat16(value), Nearest(codes, value, Ties::kEvenCode)) << std::hexfloat << value;
  }
}

TEST(Float16, OverflowGivesInfOrTheGreatestValue) {
  EXPECT_EQ(FloatToFloat16(65519.996f), 0x7BFF);
  EXPECT_EQ(FloatToFloat16(65520.0f), 0x7C00);
  EXPECT_EQ(FloatToFloat16(-3e38f), 0xFC00);
  EXPECT_EQ(FloatToFloat16(FromBits(kFloatInf)), 0x7C00);
  EXPECT_EQ(FloatToFloat16(65520.0f, true), 0x7BFF);
  EXPECT_EQ(FloatToFloat16(FromBits(kFloatInf | kFloatSign), true), 0xFBFF);
  EXPECT_EQ(ToBits(Float16ToFloat(0x7C00)), kFloatInf);
  EXPECT_EQ(ToBits(Float16ToFloat(0xFC00)), kFloatInf | kFloatSign);
}

TEST(Float16, NanStaysNanWithSignAndPayloadAndSaturatesToZero) {
  for (uint32_t payload = 1; payload < 0x400; ++payload) {
    for (const uint32_t sign : {0u, 0x8000u}) {
      const uint32_t want = (sign << 16) | 0x7FC00000 | (payload << 13);
      ASSERT_EQ(ToBits(Float16ToFloat(static_cast<uint16_t>(sign | 0x7C00 | payload))), want);
      ASSERT_EQ(FloatToFloat16(FromBits(want)), sign | 0x7E00 | payload);
      ASSERT_EQ(FloatToFloat16(FromBits(want), true), 0);
    }
  }
  EXPECT_EQ(FloatToFloat16(FromBits(0x7F800001)), 0x7E00);  // a payload that would be cut to nothing
  EXPECT_EQ(FloatToFloat16(FromBits(0xFF800001)), 0xFE00);
}

TEST(Float16, TinyValuesKeepTheirSign) {
  EXPECT_EQ(FloatToFloat16(FromBits(1)), 0x0000);
  EXPECT_EQ(FloatToFloat16(FromBits(kFloatSign | 1)), 0x8000);
  EXPECT_EQ(FloatToFloat16(-0.0f), 0x8000);
}

}  // namespace
}  // namespace canopy::numerics
