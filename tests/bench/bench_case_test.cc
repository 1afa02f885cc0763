// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_case.h"

#include <gtest/gtest.h>

namespace canopy::bench {
namespace {

conv::Call Parse(const std::string& text) {
  conv::Call call;
  const base::Status status = conv::ParseCall(text, &call);
  EXPECT_TRUE(status.ok()) << text << ": " << status.message();
  return call;
}

TEST(BenchCase, ALayerIsReportedUnderTheClassThatItsGeometrySays) {
  constexpr std::pair<const char*, const char*> kClasses[] = {
      {"conv_backward n8 ci64 co64 in56x56 k1", "1x1"},
      {"conv_backward n8 ci64 co64 in56x56 k1 s2", "1x1"},
      {"conv_backward n8 ci64 co64 in56x56 k3 p1", "3x3"},
      {"conv_backward n8 ci64 co64 in56x56 k3 p1 s2", "3x3s2"},
      {"conv_backward n8 ci64 co64 in56x56 k1x7 p0x3", "asym"},
      {"conv_backward n8 ci64 co64 in56x56 k5 p2", "wide"},
      {"conv_backward n8 ci3 co64 in56x56 k3 p1", "stem"},
      {"conv_backward n8 ci64 co64 in56x56 k3 p1 g64", "dw"},
      {"conv_backward n8 ci64 co64 in56x56 k31 p15 g64", "dwlarge"},
      {"conv_backward n8 ci64 co64 in56x56 k3 p1 g4", "grouped"},
      {"conv_backward n8 ci64 co64 in56x56 k3 p2 d2", "dilated"},
      {"conv_backward n8 ci64 co3 in56x56 k2 s2 transposed", "transp"},
      {"conv_backward n8 ci17 co33 in56x56 k3 p1", "odd"},
      {"conv_backward n8 ci16 co16 in56x56 k3 p1", "tiny"},
      {"conv_backward n1 ci64 co64 in8x8x8 k2 s2 transposed", "3d"},
      {"conv_backward n1 ci64 co64 in800 k31 p15 g64", "1d"},
      {"tbc_backward t45 b8 ci64 co64 k3 pad1", "tbc"},
      {"conv_forward n8 ci64 co64 in56x56 k1", "forward"},
  };
  for (const auto& [text, name] : kClasses) EXPECT_EQ(ClassOf(Parse(text)), name) << text;
}

TEST(BenchCase, OnlyGradientsOfTheMaskCanBeHadAlone) {
  const conv::Call call = Parse("conv_backward n8 ci64 co64 in56x56 k1 mask101");
  EXPECT_TRUE(Offers(call, What::kCall));
  EXPECT_TRUE(Offers(call, What::kData));
  EXPECT_FALSE(Offers(call, What::kWeights));
  EXPECT_EQ(CallFor(call, What::kBias).mask, (std::array<bool, 3>{false, false, true}));
  EXPECT_FALSE(Offers(Parse("tbc_backward t45 b8 ci64 co64 k3 pad1"), What::kData));
}

TEST(BenchCase, Hf32IsFloatTensorsWithAnotherMath) {
  conv::Call call = Parse("conv_backward bf16 n8 ci64 co64 in56x56 k1");
  for (const char* type : {"f32", "hf32", "bf16", "f16"}) {
    ASSERT_TRUE(IsType(type));
    SetType(type, &call);
    EXPECT_EQ(TypeOf(call), type);
  }
  EXPECT_FALSE(IsType("f64"));
  EXPECT_EQ(TypeOf(Parse("conv_backward f16 n8 ci64 co64 in9x9 k1 grad_weight:f32")), "mixed");
}

}  // namespace
}  // namespace canopy::bench
