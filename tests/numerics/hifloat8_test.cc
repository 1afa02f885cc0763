// SPDX-License-Identifier: Apache-2.0
#include "numerics/hifloat8.h"

#include <gtest/gtest.h>

#include "tests/numerics/nearest.h"

namespace canopy::numerics {
namespace {

// The positive half of the code table; the code 0x6F is Inf and stands here as the 1.5 * 2^15 that would be next.
constexpr double kValues[128] = {
    // clang-format off
    0,       0x1p-22,   0x1p-21,  0x1p-20,   0x1p-19,  0x1p-18,   0x1p-17,  0x1p-16,    // 0x00
    1,       1.125,     1.25,     1.375,     1.5,      1.625,     1.75,     1.875,      // 0x08
    2,       2.25,      2.5,      2.75,      3,        3.25,      3.5,      3.75,       // 0x10
    0.5,     0.5625,    0.625,    0.6875,    0.75,     0.8125,    0.875,    0.9375,     // 0x18
    4,       4.5,       5,        5.5,       6,        6.5,       7,        7.5,        // 0x20
    8,       9,         10,       11,        12,       13,        14,       15,         // 0x28
    0.25,    0.28125,   0.3125,   0.34375,   0.375,    0.40625,   0.4375,   0.46875,    // 0x30
    0.125,   0.140625,  0.15625,  0.171875,  0.1875,   0.203125,  0.21875,  0.234375,   // 0x38
    16,      20,        24,       28,        32,       40,        48,       56,         // 0x40
    64,      80,        96,       112,       128,      160,       192,      224,        // 0x48
    0x1p-4,  0x1.4p-4,  0x1.8p-4, 0x1.cp-4,  0x1p-5,   0x1.4p-5,  0x1.8p-5, 0x1.cp-5,   // 0x50
    0x1p-6,  0x1.4p-6,  0x1.8p-6, 0x1.cp-6,  0x1p-7,   0x1.4p-7,  0x1.8p-7, 0x1.cp-7,   // 0x58
    256,     384,       512,      768,       1024,     1536,      2048,     3072,       // 0x60
    4096,    6144,      8192,     12288,     16384,    24576,     32768,    49152,      // 0x68
    0x1p-8,  0x1.8p-8,  0x1p-9,   0x1.8p-9,  0x1p-10,  0x1.8p-10, 0x1p-11,  0x1.8p-11,  // 0x70
    0x1p-12, 0x1.8p-12, 0x1p-13,  0x1.8p-13, 0x1p-14,  0x1.8p-14, 0x1p-15,  0x1.8p-15,  // 0x78
    // clang-format on
};

std::vector<Code> Positive() {
  std::vector<Code> codes;
  for (uint32_t bits = 0; bits < 128; ++bits) codes.push_back({kValues[bits], bits});
  std::sort(codes.begin(), codes.end(), [](const Code& a, const Code& b) { return a.value < b.value; });
  return codes;
}

TEST(HiFloat8, EveryCodeHasItsValueAndComesBack) {
  for (uint32_t body = 1; body < 0x80; ++body) {
    if (body == 0x6F) continue;
    for (const uint32_t sign : {0u, 0x80u}) {
      const uint8_t code = static_cast<uint8_t>(sign | body);
      const float value = HiFloat8ToFloat(code);
      EXPECT_EQ(static_cast<double>(value), sign != 0 ? -kValues[body] : kValues[body]) << std::hex << +code;
      EXPECT_EQ(FloatToHiFloat8(value), code) << std::hex << +code;
      EXPECT_EQ(FloatToHiFloat8(value, true), code) << std::hex << +code;
    }
  }
  EXPECT_EQ(ToBits(HiFloat8ToFloat(0x00)), 0u);
  EXPECT_EQ(ToBits(HiFloat8ToFloat(0x80)), 0x7FC00000u);
  EXPECT_EQ(ToBits(HiFloat8ToFloat(0x6F)), kFloatInf);
  EXPECT_EQ(ToBits(HiFloat8ToFloat(0xEF)), kFloatInf | kFloatSign);
}

TEST(HiFloat8, EveryRoundingBoundaryGoesToNearestAway) {
  const std::vector<Code> codes = Positive();
  ForEveryBoundary(codes, [&](float value) {
    const uint32_t body = Nearest(codes, std::fabs(value), Ties::kAway);
    const uint32_t sign = std::signbit(value) && body != 0 ? 0x80 : 0;  // there is one zero only
    ASSERT_EQ(FloatToHiFloat8(value), sign | body) << std::hexfloat << value;
    ASSERT_EQ(FloatToHiFloat8(value, true), sign | (body == 0x6F ? 0x6E : body)) << std::hexfloat << value;
  });
}

TEST(HiFloat8, AStridedWalkThroughAllPatternsRoundsToNearestAway) {
  const std::vector<Code> codes = Positive();
  for (uint64_t pattern = 0; pattern <= kFloatInf; pattern += 211) {
    const float value = FromBits(static_cast<uint32_t>(pattern));
    ASSERT_EQ(FloatToHiFloat8(value), Nearest(codes, value, Ties::kAway)) << std::hexfloat << value;
  }
}

TEST(HiFloat8, TheSpecialRowsOfTheTable) {
  EXPECT_EQ(FloatToHiFloat8(0x0.fffffep-23f), 0x00);
  EXPECT_EQ(FloatToHiFloat8(-0x0.fffffep-23f), 0x00);
  EXPECT_EQ(FloatToHiFloat8(-0.0f), 0x00);
  EXPECT_EQ(FloatToHiFloat8(0x1p-23f), 0x01);
  EXPECT_EQ(FloatToHiFloat8(-0x1.4p-23f), 0x81);
  EXPECT_EQ(FloatToHiFloat8(0x1.8p-16f), 0x7E);  // a tie that leaves the powers of two
  EXPECT_EQ(FloatToHiFloat8(28671.998f), 0x6D);
  EXPECT_EQ(FloatToHiFloat8(28672), 0x6E);
  EXPECT_EQ(FloatToHiFloat8(40959.996f), 0x6E);
  EXPECT_EQ(FloatToHiFloat8(40960), 0x6F);
  EXPECT_EQ(FloatToHiFloat8(-1e30f), 0xEF);
  EXPECT_EQ(FloatToHiFloat8(FromBits(kFloatInf)), 0x6F);
  EXPECT_EQ(FloatToHiFloat8(FromBits(kFloatInf | kFloatSign), true), 0xEE);
  for (const uint32_t nan : {0x7F800001u, 0x7FFFFFFFu, 0xFF800001u, 0xFFFFFFFFu}) {
    EXPECT_EQ(FloatToHiFloat8(FromBits(nan)), 0x80);
    EXPECT_EQ(FloatToHiFloat8(FromBits(nan), true), 0x00);
  }
}

}  // namespace
}  // namespace canopy::numerics
