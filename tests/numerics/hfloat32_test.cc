// SPDX-License-Identifier: Apache-2.0
#include "numerics/hfloat32.h"

#include <gtest/gtest.h>

#include <cmath>

namespace canopy::numerics {
namespace {

// Nearest multiple of the format's step at this exponent, by double arithmetic: nearbyint ties to even.
template <int kMantissaBits>
double Expected(float value) {
  if (value == 0) return value;
  const int exponent = std::max(std::ilogb(static_cast<double>(value)), -126);
  const double step = std::ldexp(1.0, exponent - kMantissaBits);
  return std::nearbyint(value / step) * step;
}

// Every pattern of the bits that stay and the bit above and below the dropped ones' half, at exponents of every kind.
template <int kMantissaBits>
void CheckMantissas() {
  constexpr int kDropped = 23 - kMantissaBits;
  constexpr uint32_t kHalf = 1u << (kDropped - 1);
  for (const uint32_t exponent : {0u, 1u, 2u, 100u, 126u, 127u, 128u, 200u, 253u, 254u}) {
    for (uint32_t kept = 0; kept < (1u << kMantissaBits); ++kept) {
      for (const uint32_t dropped : {0u, 1u, kHalf - 1, kHalf, kHalf + 1, 2 * kHalf - 1}) {
        for (const uint32_t sign : {0u, kFloatSign}) {
          const float value = FromBits(sign | (exponent << 23) | (kept << kDropped) | dropped);
          const float got = RoundToHfloat32<kMantissaBits>(value);
          const double want = Expected<kMantissaBits>(value);
          ASSERT_EQ(std::signbit(got), std::signbit(value)) << std::hexfloat << value;
          if (std::fabs(want) >= 0x1p128) {
            ASSERT_EQ(ToBits(got), sign | kFloatInf) << std::hexfloat << value;
            ASSERT_EQ(ToBits(RoundToHfloat32<kMantissaBits>(value, true)), sign | (kFloatMax & ~(2 * kHalf - 1)));
          } else {
            ASSERT_EQ(static_cast<double>(got), want) << std::hexfloat << value;
            ASSERT_EQ(ToBits(RoundToHfloat32<kMantissaBits>(value, true)), ToBits(got)) << std::hexfloat << value;
          }
        }
      }
    }
  }
}

TEST(Hfloat32, ElevenBitsRoundToNearestEvenOnAllMantissas) { CheckMantissas<11>(); }

TEST(Hfloat32, TenBitsRoundToNearestEvenOnAllMantissas) { CheckMantissas<10>(); }

TEST(Hfloat32, EveryDroppedPatternRoundsRight) {
  for (uint32_t low = 0; low < (4u << 13); ++low) {
    const float value = FromBits(0x3F800000 | low);
    ASSERT_EQ(RoundToHfloat32x11(value), Expected<11>(value)) << std::hexfloat << value;
    ASSERT_EQ(RoundToHfloat32x10(value), Expected<10>(value)) << std::hexfloat << value;
  }
}

TEST(Hfloat32, NamedTies) {
  EXPECT_EQ(ToBits(RoundToHfloat32x11(FromBits(0x3F800800))), 0x3F800000u);
  EXPECT_EQ(ToBits(RoundToHfloat32x11(FromBits(0x3F801800))), 0x3F802000u);
  EXPECT_EQ(ToBits(RoundToHfloat32x11(FromBits(0x3F800801))), 0x3F801000u);
  EXPECT_EQ(ToBits(RoundToHfloat32x10(FromBits(0x3F801000))), 0x3F800000u);
  EXPECT_EQ(ToBits(RoundToHfloat32x10(FromBits(0x3F803000))), 0x3F804000u);
}

TEST(Hfloat32, SpecialValuesStayWhatTheyAre) {
  for (const bool saturate : {false, true}) {
    EXPECT_EQ(ToBits(RoundToHfloat32x11(0.0f, saturate)), 0u);
    EXPECT_EQ(ToBits(RoundToHfloat32x11(-0.0f, saturate)), kFloatSign);
  }
  EXPECT_EQ(ToBits(RoundToHfloat32x11(FromBits(kFloatInf))), kFloatInf);
  EXPECT_EQ(ToBits(RoundToHfloat32x10(FromBits(kFloatInf | kFloatSign))), kFloatInf | kFloatSign);
  EXPECT_EQ(ToBits(RoundToHfloat32x11(FromBits(kFloatInf), true)), 0x7F7FF000u);
  EXPECT_EQ(ToBits(RoundToHfloat32x10(FromBits(kFloatInf | kFloatSign), true)), 0xFF7FE000u);
}

// Adding half an ulp to a payload of ones would carry into the sign, and one of few bits would be cut to Inf.
TEST(Hfloat32, NanStaysAQuietNanOfItsSign) {
  for (const uint32_t nan : {0x7F800001u, 0x7FFFFFFFu, 0x7FC00000u, 0xFF800001u, 0xFFFFFFFFu}) {
    for (const float got : {RoundToHfloat32x11(FromBits(nan)), RoundToHfloat32x10(FromBits(nan))}) {
      EXPECT_TRUE(std::isnan(got)) << std::hex << nan;
      EXPECT_NE(ToBits(got) & kFloatQuiet, 0u);
      EXPECT_EQ(ToBits(got) & kFloatSign, nan & kFloatSign);
      EXPECT_EQ(ToBits(got) & 0xFFF, 0u);
    }
    EXPECT_EQ(ToBits(RoundToHfloat32x11(FromBits(nan), true)), 0u);
  }
}

}  // namespace
}  // namespace canopy::numerics
