// SPDX-License-Identifier: Apache-2.0
#include "bench/ways.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace canopy::bench {
namespace {

using Ways = std::vector<std::string>;

bool Has(const Ways& ways, const std::string& way) { return std::count(ways.begin(), ways.end(), way) == 1; }

TEST(WaysTest, AWayBelongsToTheFamilyThatItsNameSays) {
  EXPECT_EQ(FamilyOf("any"), "direct");
  EXPECT_EQ(FamilyOf("wino"), "winograd");
  EXPECT_EQ(FamilyOf("f32-plain"), "f32-direct");
  EXPECT_EQ(FamilyOf("f32-wino"), "f32-winograd");
  EXPECT_EQ(FamilyOf("any+nhwc"), "direct");
}

TEST(WaysTest, AMixtureBelongsToItsLessPlainHalf) {
  EXPECT_EQ(FamilyOf("any+wino"), "winograd");
  EXPECT_EQ(FamilyOf("wino+any"), "winograd");
  EXPECT_EQ(FamilyOf("any+f32-plain"), "f32-direct");
  EXPECT_EQ(FamilyOf("f32-wino+f32-plain"), "f32-winograd");
}

TEST(WaysTest, TheBestOfEachFamilyStaysInTheRace) {
  const Medians medians{{"any", 1}, {"nhwc", 1.1}, {"plain", 3}, {"wino", 10}};
  EXPECT_EQ(Promising(medians, 1.25), (Ways{"any", "nhwc", "wino"}));
}

TEST(WaysTest, TheFastestForEachGradientAreCombined) {
  const Medians data{{"any", 1}, {"plain", 2}}, weights{{"any", 3}, {"plain", 1}};
  EXPECT_TRUE(Has(Combine(data, weights), "any+plain"));
  EXPECT_FALSE(Has(Combine(data, weights), "plain+any"));
}

TEST(WaysTest, AFormatThatBothShareIsTriedWhereItIsNearlyAsFast) {
  EXPECT_TRUE(Has(Combine({{"any", 1}, {"nhwc", 1.1}}, {{"any", 1.1}, {"nhwc", 1}}), "nhwc+nhwc"));
}

TEST(WaysTest, WinogradForOneGradientIsCombinedWithDirectForTheOther) {
  EXPECT_EQ(Combine({{"any", 1}, {"wino", 0.5}}, {{"any", 1}}), (Ways{"any+any", "wino+any"}));
}

TEST(WaysTest, ACallForOneGradientIsThatGradientsWays) {
  EXPECT_EQ(Combine({}, {{"any", 1}, {"plain", 2}}), Ways{"any"});
  EXPECT_EQ(Combine({{"plain", 2}}, {}), Ways{"plain"});
  EXPECT_TRUE(Combine({}, {}).empty());
}

}  // namespace
}  // namespace canopy::bench
