// SPDX-License-Identifier: Apache-2.0
#include "numerics/rounding.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace canopy::numerics {
namespace {

constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kHiFloat8, DType::kFloat8E4M3};
constexpr InputRounding kRoundings[] = {InputRounding::kNone, InputRounding::kFloat16, InputRounding::kBFloat16,
                                        InputRounding::kHfloat32x11, InputRounding::kHfloat32x10};
const float kInf = FromBits(kFloatInf);
const float kNan = FromBits(kFloatInf | kFloatQuiet);

float RoundTrip(float value, DType dtype, bool saturate) {
  std::array<uint8_t, 6> bytes{0xA5, 0xA5, 0xA5, 0xA5, 0xA5, 0xA5};
  StoreElement(&bytes[1], dtype, value, saturate);
  EXPECT_EQ(bytes[0], 0xA5);
  EXPECT_EQ(bytes[1 + ElementBytes(dtype)], 0xA5) << "wrote behind the element";
  return LoadElement(&bytes[1], dtype);
}

TEST(Rounding, ElementsGoToMemoryAndBackAtAnyAddress) {
  for (const DType dtype : kTypes) {
    for (const float value : {0.0f, 1.0f, -1.5f, 0.125f, -24.0f}) EXPECT_EQ(RoundTrip(value, dtype, false), value);
  }
  EXPECT_EQ(RoundTrip(1.0f + 0x1p-20f, DType::kFloat32, false), 1.0f + 0x1p-20f);
  EXPECT_EQ(RoundTrip(1.0f + 0x1p-10f, DType::kFloat16, false), 1.0f + 0x1p-10f);
  EXPECT_EQ(RoundTrip(1.0f + 0x1p-10f, DType::kBFloat16, false), 1.0f);
  EXPECT_EQ(RoundTrip(1.0625f, DType::kHiFloat8, false), 1.125f);
  EXPECT_EQ(RoundTrip(1.0625f, DType::kFloat8E4M3, false), 1.0f);
}

TEST(Rounding, ASaturatingResultIsNeverInfNorNan) {
  const float greatest[] = {FromBits(kFloatMax), 65504.0f, FromBits(0x7F7F0000), 32768.0f, 448.0f};
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    EXPECT_EQ(RoundTrip(kInf, kTypes[i], true), greatest[i]);
    EXPECT_EQ(RoundTrip(-kInf, kTypes[i], true), -greatest[i]);
    EXPECT_EQ(ToBits(RoundTrip(kNan, kTypes[i], true)), 0u);
    EXPECT_TRUE(std::isnan(RoundTrip(kNan, kTypes[i], false)));
  }
  EXPECT_EQ(RoundTrip(kInf, DType::kFloat32, false), kInf);
}

TEST(Rounding, InputsRoundToTheirFormat) {
  const float value = 1.0f + 0x1p-9f + 0x1p-11f + 0x1p-13f;
  EXPECT_EQ(RoundInput(value, InputRounding::kNone, false), value);
  EXPECT_EQ(RoundInput(value, InputRounding::kFloat16, false), 1.0f + 0x1p-9f + 0x1p-10f);
  EXPECT_EQ(RoundInput(value, InputRounding::kBFloat16, false), 1.0f);
  EXPECT_EQ(RoundInput(value, InputRounding::kHfloat32x11, false), 1.0f + 0x1p-9f + 0x1p-11f);
  EXPECT_EQ(RoundInput(value, InputRounding::kHfloat32x10, false), 1.0f + 0x1p-9f + 0x1p-10f);
}

TEST(Rounding, ASaturatingInputConversionIsNeverInfNorNanAndKNoneConvertsNothing) {
  for (const InputRounding rounding : kRoundings) {
    const bool converts = rounding != InputRounding::kNone;
    EXPECT_EQ(std::isfinite(RoundInput(kInf, rounding, true)), converts);
    EXPECT_EQ(std::isnan(RoundInput(kNan, rounding, true)), !converts);
    EXPECT_FALSE(std::isfinite(RoundInput(kInf, rounding, false)));
    EXPECT_TRUE(std::isnan(RoundInput(kNan, rounding, false)));
  }
  EXPECT_EQ(RoundInput(1e30f, InputRounding::kFloat16, true), 65504.0f);
  EXPECT_EQ(RoundInput(1e30f, InputRounding::kFloat16, false), kInf);
}

TEST(Rounding, EachFormatHoldsTheSmallerOnesExactly) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const float half = Float16ToFloat(static_cast<uint16_t>(code));
    const float bfloat = BFloat16ToFloat(static_cast<uint16_t>(code));
    for (const InputRounding hf32 : {InputRounding::kHfloat32x11, InputRounding::kHfloat32x10}) {
      if (!std::isnan(half)) {
        ASSERT_EQ(ToBits(RoundInput(half, hf32, false)), ToBits(half));
      }
      if (!std::isnan(bfloat)) {
        ASSERT_EQ(ToBits(RoundInput(bfloat, hf32, false)), ToBits(bfloat));
      }
    }
  }
  for (uint32_t code = 0; code < 0x100; ++code) {
    const float hi = HiFloat8ToFloat(static_cast<uint8_t>(code));
    const float e4m3 = Float8E4M3ToFloat(static_cast<uint8_t>(code));
    for (const InputRounding wider : kRoundings) {
      if (!std::isnan(hi)) {
        ASSERT_EQ(ToBits(RoundInput(hi, wider, false)), ToBits(hi));
      }
      if (!std::isnan(e4m3)) {
        ASSERT_EQ(ToBits(RoundInput(e4m3, wider, false)), ToBits(e4m3));
      }
    }
  }
}

#if defined(__x86_64__)
TEST(Rounding, NeitherFlushingNorRoundingDirectionOfTheThreadChangesABit) {
  std::vector<float> values;
  for (uint64_t pattern = 0; pattern < (uint64_t{1} << 32); pattern += 65521) {
    values.push_back(FromBits(static_cast<uint32_t>(pattern)));
  }
  for (uint32_t subnormal = 0; subnormal < 4096; ++subnormal) {
    values.push_back(FromBits(subnormal * 2047));
    values.push_back(FromBits(0x33000000 + subnormal * 8191));  // around FLOAT16's subnormals
  }
  const auto compute = [&values] {
    std::vector<uint32_t> bits;
    for (const float value : values) {
      for (const DType dtype : kTypes) {
        uint32_t stored = 0;
        StoreElement(&stored, dtype, value, false);
        bits.push_back(stored);
        bits.push_back(ToBits(LoadElement(&stored, dtype)));
      }
      for (const InputRounding rounding : kRoundings) bits.push_back(ToBits(RoundInput(value, rounding, false)));
    }
    return bits;
  };
  const std::vector<uint32_t> usual = compute();
  const unsigned saved = _mm_getcsr();
  for (const unsigned direction : {0x0000u, 0x2000u, 0x4000u, 0x6000u}) {
    _mm_setcsr((saved & ~0x6000u) | 0x8040u | direction);
    const std::vector<uint32_t> flushed = compute();
    _mm_setcsr(saved);
    EXPECT_EQ(usual, flushed) << "rounding direction " << direction;
  }
}
#endif

}  // namespace
}  // namespace canopy::numerics
