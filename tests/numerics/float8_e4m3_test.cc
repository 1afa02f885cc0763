// SPDX-License-Identifier: Apache-2.0
#include "numerics/float8_e4m3.h"

#include <gtest/gtest.h>

#include "tests/numerics/nearest.h"

namespace canopy::numerics {
namespace {

// The positive half, written out binade by binade; the last code is NaN and stands here as the absent 480.
constexpr double kValues[128] = {
    // clang-format off
    0,           0x1p-9,      0x1p-8,     0x1.8p-8,   0x1p-7,    0x1.4p-7,   0x1.8p-7,   0x1.cp-7,
    0.015625,    0.017578125, 0.01953125, 0.021484375, 0.0234375, 0.025390625, 0.02734375, 0.029296875,
    0.03125,     0.03515625,  0.0390625,  0.04296875, 0.046875,  0.05078125, 0.0546875,  0.05859375,
    0.0625,      0.0703125,   0.078125,   0.0859375,  0.09375,   0.1015625,  0.109375,   0.1171875,
    0.125,       0.140625,    0.15625,    0.171875,   0.1875,    0.203125,   0.21875,    0.234375,
    0.25,        0.28125,     0.3125,     0.34375,    0.375,     0.40625,    0.4375,     0.46875,
    0.5,         0.5625,      0.625,      0.6875,     0.75,      0.8125,     0.875,      0.9375,
    1,           1.125,       1.25,       1.375,      1.5,       1.625,      1.75,       1.875,
    2,           2.25,        2.5,        2.75,       3,         3.25,       3.5,        3.75,
    4,           4.5,         5,          5.5,        6,         6.5,        7,          7.5,
    8,           9,           10,         11,         12,        13,         14,         15,
    16,          18,          20,         22,         24,        26,         28,         30,
    32,          36,          40,         44,         48,        52,         56,         60,
    64,          72,          80,         88,         96,        104,        112,        120,
    128,         144,         160,        176,        192,       208,        224,        240,
    256,         288,         320,        352,        384,       416,        448,        480,
    // clang-format on
};

std::vector<Code> Positive() {
  std::vector<Code> codes;
  for (uint32_t bits = 0; bits < 0x7F; ++bits) codes.push_back({kValues[bits], bits});
  codes.push_back({480, 0x7E});  // overflow saturates
  return codes;
}

TEST(Float8E4M3, EveryCodeHasItsValueAndComesBack) {
  for (uint32_t magnitude = 0; magnitude < 0x7F; ++magnitude) {
    for (const uint32_t sign : {0u, 0x80u}) {
      const uint8_t code = static_cast<uint8_t>(sign | magnitude);
      const float value = Float8E4M3ToFloat(code);
      EXPECT_EQ(static_cast<double>(value), sign != 0 ? -kValues[magnitude] : kValues[magnitude]) << std::hex << +code;
      EXPECT_EQ(std::signbit(value), sign != 0) << std::hex << +code;
      EXPECT_EQ(FloatToFloat8E4M3(value), code) << std::hex << +code;
      EXPECT_EQ(FloatToFloat8E4M3(value, true), code) << std::hex << +code;
    }
  }
  EXPECT_EQ(ToBits(Float8E4M3ToFloat(0x7F)), 0x7FC00000u);
  EXPECT_EQ(ToBits(Float8E4M3ToFloat(0xFF)), 0xFFC00000u);
}

TEST(Float8E4M3, EveryRoundingBoundaryGoesToNearestEvenOrSaturates) {
  const std::vector<Code> codes = Positive();
  ForEveryBoundary(codes, [&](float value) {
    const uint32_t sign = std::signbit(value) ? 0x80 : 0;
    ASSERT_EQ(FloatToFloat8E4M3(value), sign | Nearest(codes, std::fabs(value), Ties::kEvenCode))
        << std::hexfloat << value;
    ASSERT_EQ(FloatToFloat8E4M3(value, true), FloatToFloat8E4M3(value)) << std::hexfloat << value;
  });
}

TEST(Float8E4M3, AStridedWalkThroughAllPatternsRoundsToNearestEven) {
  const std::vector<Code> codes = Positive();
  for (uint64_t pattern = 0; pattern <= kFloatInf; pattern += 211) {
    const float value = FromBits(static_cast<uint32_t>(pattern));
    ASSERT_EQ(FloatToFloat8E4M3(value), Nearest(codes, value, Ties::kEvenCode)) << std::hexfloat << value;
  }
}

TEST(Float8E4M3, TheSpecialRowsOfTheTable) {
  EXPECT_EQ(FloatToFloat8E4M3(449), 0x7E);
  EXPECT_EQ(FloatToFloat8E4M3(464), 0x7E);
  EXPECT_EQ(FloatToFloat8E4M3(-1e30f), 0xFE);
  EXPECT_EQ(FloatToFloat8E4M3(FromBits(kFloatInf)), 0x7E);
  EXPECT_EQ(FloatToFloat8E4M3(FromBits(kFloatInf | kFloatSign)), 0xFE);
  EXPECT_EQ(FloatToFloat8E4M3(0x1p-10f), 0x00);
  EXPECT_EQ(FloatToFloat8E4M3(-0x1p-10f), 0x80);
  EXPECT_EQ(FloatToFloat8E4M3(0x1.000002p-10f), 0x01);
  for (const uint32_t nan : {0x7F800001u, 0x7FFFFFFFu, 0xFF800001u, 0xFFFFFFFFu}) {
    EXPECT_EQ(FloatToFloat8E4M3(FromBits(nan)), 0x7F);
    EXPECT_EQ(FloatToFloat8E4M3(FromBits(nan), true), 0x00);
  }
}

}  // namespace
}  // namespace canopy::numerics
