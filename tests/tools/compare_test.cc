// SPDX-License-Identifier: Apache-2.0
#include "tools/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tools/gates.h"

namespace canopy::tools {
namespace {

using numerics::DType;
constexpr float kInf = INFINITY;

Errors Of(DType dtype, const std::vector<float>& actual, const std::vector<double>& golden,
          const CompareOptions& options = {}) {
  return Compare(dtype, actual, golden, {}, options);
}

// 1000 values between 1 and 2, and the same with an error.
std::vector<double> Ramp() {
  std::vector<double> golden(1000);
  for (size_t i = 0; i < golden.size(); ++i) golden[i] = 1 + static_cast<double>(i) / 1000;
  return golden;
}
std::vector<float> Floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

TEST(RoundOnce, AHalfwayCaseIsNotRoundedTwice) {
  // Just above halfway between 1 and the next FLOAT16; FP32 in between would make it exactly halfway.
  EXPECT_EQ(RoundOnce(1 + 0x1p-11 + 0x1p-40, DType::kFloat16, false), 1 + 0x1p-10);
  EXPECT_EQ(RoundOnce(1 + 0x1p-11 - 0x1p-40, DType::kFloat16, false), 1);
  EXPECT_EQ(RoundOnce(1 + 0x1p-11, DType::kFloat16, false), 1);
  EXPECT_EQ(RoundOnce(-1 - 0x1p-8 - 0x1p-50, DType::kBFloat16, false), -1 - 0x1p-7);
  EXPECT_EQ(RoundOnce(1 + 0x1p-24 + 0x1p-40, DType::kFloat32, false), 1 + 0x1p-23);
  EXPECT_EQ(RoundOnce(0x1p-200, DType::kBFloat16, false), 0);
}

TEST(RoundOnce, OverflowFollowsTheProduct) {
  EXPECT_EQ(RoundOnce(1e6, DType::kFloat16, false), INFINITY);
  EXPECT_EQ(RoundOnce(-1e6, DType::kFloat16, true), -65504);
  EXPECT_EQ(RoundOnce(NAN, DType::kFloat16, true), 0);
  EXPECT_EQ(RoundOnce(1e300, DType::kFloat32, false), INFINITY);
}

TEST(Compare, EqualValuesHaveNoErrors) {
  const std::vector<float> actual = {1, -2, 0, 3.5};
  const Errors e = Of(DType::kFloat32, actual, {1, -2, 0, 3.5});
  EXPECT_EQ(e.exact, 4);
  EXPECT_EQ(e.norm, 0);
  EXPECT_EQ(e.mere, 0);
  EXPECT_EQ(e.mare, 0);
  EXPECT_EQ(e.mixed_good, 1);
  EXPECT_EQ(e.max_ulps, 0);
  EXPECT_DOUBLE_EQ(e.cosine, 1);
  EXPECT_EQ(e.histogram[0], 4);
  EXPECT_TRUE(e.worst.empty());
  EXPECT_TRUE(Judge(e, {}).empty());
}

TEST(Compare, EachFigureIsWhatItsNameSays) {
  const Errors e = Of(DType::kFloat32, {1.25f, 2, 4, 8}, {1, 2, 4, 8});
  EXPECT_DOUBLE_EQ(e.norm, 0.25 / std::sqrt(85.0));
  EXPECT_NEAR(e.mare, 0.25, 1e-6);
  EXPECT_NEAR(e.mere, 0.0625, 1e-6);
  EXPECT_EQ(e.mixed_good, 0.75);
  EXPECT_EQ(e.max_abs, 0.25);
  EXPECT_EQ(e.max_ulps, 0.25 * 0x1p23);
  EXPECT_EQ(e.close_bad, 0.25);
  ASSERT_EQ(e.worst.size(), 1u);
  EXPECT_EQ(e.worst[0].index, 0);
  EXPECT_EQ(e.worst[0].actual, 1.25);
}

TEST(Compare, SixteenBitGoldenValuesAreRoundedFirst) {
  const Errors e = Of(DType::kFloat16, {1, 1 + 0x1p-10f}, {1 + 0x1p-12, 1 + 0x1p-12});
  EXPECT_EQ(e.exact, 1);
  EXPECT_EQ(e.max_ulps, 1);
}

TEST(Compare, UlpsOfTinyValuesAreTheTypesLeastStep) {
  EXPECT_EQ(Of(DType::kFloat16, {0x1p-24f}, {0}).max_ulps, 1);
  EXPECT_EQ(Of(DType::kBFloat16, {0x1p-133f}, {0}).max_ulps, 1);
}

TEST(Compare, CodesOfEightBitTypesAreCountedInOrderOfValue) {
  // 0.9375 and 1 are neighbours; their codes 0x1F and 0x08 are not.
  EXPECT_EQ(Of(DType::kHiFloat8, {0.9375f}, {1}).max_ulps, 1);
  EXPECT_EQ(Of(DType::kHiFloat8, {-0x1p-22f}, {0x1p-22}).max_ulps, 2);
  EXPECT_EQ(Of(DType::kFloat8E4M3, {448}, {384}).max_ulps, 2);
}

TEST(Compare, NanAndInfMustStandWhereTheGoldenValuesHaveThem) {
  Errors e = Of(DType::kFloat32, {NAN, kInf, -kInf, 1}, {NAN, INFINITY, -INFINITY, 1});
  EXPECT_EQ(e.misplaced_nan + e.misplaced_inf, 0);
  EXPECT_EQ(e.exact, 4);
  EXPECT_TRUE(Judge(e, {}).empty());
  e = Of(DType::kFloat32, {1, kInf, kInf, NAN}, {NAN, -INFINITY, 1, 2});
  EXPECT_EQ(e.misplaced_nan, 2);
  EXPECT_EQ(e.misplaced_inf, 2);
  EXPECT_EQ(Judge(e, {}).size(), 2u);
}

TEST(Compare, AValueAtTheOverflowThresholdMayFallOnEitherSide) {
  EXPECT_EQ(Of(DType::kFloat16, {65504}, {65520}).misplaced_inf, 0);
  EXPECT_EQ(Of(DType::kFloat16, {kInf}, {65519.9}).misplaced_inf, 0);
  EXPECT_EQ(Of(DType::kFloat16, {kInf}, {65000}).misplaced_inf, 1);
  EXPECT_EQ(Of(DType::kFloat16, {65504}, {70000}).misplaced_inf, 1);
  EXPECT_EQ(Of(DType::kFloat16, {-65504}, {65520}).misplaced_inf, 1);
}

TEST(Compare, IndicesOfASampleAreKept) {
  const Errors e = Compare(DType::kFloat32, {1, 5}, {1, 2}, {10, 99}, {});
  ASSERT_EQ(e.worst.size(), 1u);
  EXPECT_EQ(e.worst[0].index, 99);
}

TEST(Compare, TheWorstElementsComeWorstFirst) {
  std::vector<float> actual = Floats(Ramp());
  actual[7] += 0.5f;
  actual[900] += 0.25f;
  actual[300] += 1;
  CompareOptions options;
  options.worst = 2;
  const Errors e = Of(DType::kFloat32, actual, Ramp(), options);
  ASSERT_EQ(e.worst.size(), 2u);
  EXPECT_EQ(e.worst[0].index, 300);
  EXPECT_EQ(e.worst[1].index, 7);
  EXPECT_EQ(std::accumulate(e.histogram.begin(), e.histogram.end(), int64_t{0}), 1000);
}

TEST(Gates, GoodFloatsPassAndEachErrorIsCaught) {
  const std::vector<double> golden = Ramp();
  EXPECT_TRUE(Judge(Of(DType::kFloat32, Floats(golden), golden), {}).empty());
  const auto faults = [&](auto change) {
    std::vector<float> actual = Floats(golden);
    change(actual);
    std::string all;
    for (const std::string& fault : Judge(Of(DType::kFloat32, actual, golden), {})) all += fault + "\n";
    return all;
  };
  EXPECT_NE(faults([](auto& a) {
              for (float& v : a) v *= 1 + 1e-5f;
            }).find("norm-wise"),
            std::string::npos);
  EXPECT_NE(faults([](auto& a) {
              for (float& v : a) v *= 1 + 2e-4f;
            }).find("MERE"),
            std::string::npos);
  EXPECT_NE(faults([](auto& a) { a[3] *= 1 + 2e-3f; }).find("MARE"), std::string::npos);
  EXPECT_NE(faults([](auto& a) {
              for (int i = 0; i < 20; ++i) a[i] *= 1.01f;
            }).find("mixed tolerance"),
            std::string::npos);
  EXPECT_NE(faults([](auto& a) { a[999] += 0.02f; }).find("errors beyond"), std::string::npos);
}

// One cancelled element among 30,720 failed a call whose every sum was good to half an ulp of its terms.
TEST(Gates, AnElementThatCancelsDoesNotDecideTheMean) {
  std::vector<double> golden = Ramp();
  std::vector<float> actual = Floats(golden);
  golden[5] = 4e-7;
  actual[5] = 2e-7f;
  EXPECT_TRUE(Judge(Of(DType::kFloat32, actual, golden), {}).empty());
}

// The greatest absolute and the greatest ulp error of a FLOAT16 output are of different elements: a large one that is
// an ulp off, and one that cancelled.
TEST(Gates, TheCapAndTheUlpsAreThoseOfOneElement) {
  std::vector<double> golden(1000, 1000.0);
  std::vector<float> actual(1000, 1000.5f);
  golden[1] = 3.0e-4;
  actual[1] = 3.4e-4f;
  EXPECT_TRUE(Judge(Of(DType::kFloat16, actual, golden), {}).empty());
  actual[0] = 1100;
  EXPECT_FALSE(Judge(Of(DType::kFloat16, actual, golden), {}).empty());
}

// A bias gradient of one channel, 16,000 terms that cancel: 4.7e-6 of the result, but 1e-7 of a usual one.
TEST(Gates, AFewElementsAreHeldAgainstTheSizeOfTheirTerms) {
  CompareOptions options;
  EXPECT_FALSE(Judge(Of(DType::kFloat32, {-0.0349665433f}, {-0.0349663799}, options), {}).empty());
  options.term_norms = {7.3};
  EXPECT_TRUE(Judge(Of(DType::kFloat32, {-0.0349665433f}, {-0.0349663799}, options), {}).empty());
  EXPECT_FALSE(Judge(Of(DType::kFloat32, {-0.0349f}, {-0.0349663799}, options), {}).empty());
}

TEST(Gates, HalfPrecisionMayBeOneUlpOffButNotFour) {
  std::vector<double> golden = Ramp();
  for (double& g : golden) g = RoundOnce(g, DType::kFloat16, false);
  std::vector<float> actual = Floats(golden);
  for (size_t i = 0; i < actual.size(); i += 2) actual[i] += 0x1p-10f;
  EXPECT_TRUE(Judge(Of(DType::kFloat16, actual, golden), {}).empty());
  for (float& v : actual) v += 4 * 0x1p-10f;
  EXPECT_FALSE(Judge(Of(DType::kFloat16, actual, golden), {}).empty());
}

TEST(Gates, EightBitResultsMayBeAStepOffHardlyEver) {
  std::vector<double> golden(2000, 1.0);
  std::vector<float> actual(2000, 1.125f);
  EXPECT_TRUE(Judge(Of(DType::kHiFloat8, actual, golden), {}).empty());
  actual[0] = actual[1] = actual[2] = 1.5f;
  EXPECT_FALSE(Judge(Of(DType::kHiFloat8, actual, golden), {}).empty());
}

TEST(Gates, ExactMeansEveryBit) {
  Gate gate;
  gate.exact = true;
  EXPECT_TRUE(Judge(Of(DType::kFloat32, {1, 2}, {1, 2}), gate).empty());
  EXPECT_FALSE(Judge(Of(DType::kFloat32, {1, std::nextafter(2.f, 3.f)}, {1, 2}), gate).empty());
}

TEST(Gates, ATolerantCaseIsJudgedByItsToleranceAlone) {
  CompareOptions options;
  options.tolerance = Tolerance{1e-2, 1e-3, 0.001};
  Gate gate;
  gate.tolerance = options.tolerance;
  std::vector<float> actual = Floats(Ramp());
  for (float& v : actual) v *= 1.009f;
  EXPECT_TRUE(Judge(Of(DType::kFloat32, actual, Ramp(), options), gate).empty());
  actual[0] = 5;
  EXPECT_TRUE(Judge(Of(DType::kFloat32, actual, Ramp(), options), gate).empty());
  actual[1] = 5;
  EXPECT_FALSE(Judge(Of(DType::kFloat32, actual, Ramp(), options), gate).empty());
}

TEST(Gates, CloseIsAskedOnlyWhereTheGateSaysSo) {
  const std::vector<double> golden = Ramp();
  std::vector<float> actual = Floats(golden);
  actual[5] *= 1 + 3e-4f;
  Gate gate;
  gate.norm = 1e-4;
  EXPECT_TRUE(Judge(Of(DType::kFloat32, actual, golden), gate).empty());
  gate.close = true;
  EXPECT_FALSE(Judge(Of(DType::kFloat32, actual, golden), gate).empty());
}

}  // namespace
}  // namespace canopy::tools
