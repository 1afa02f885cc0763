// SPDX-License-Identifier: Apache-2.0
#include "product/product.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace canopy::product {
namespace {

TEST(FindProduct, KnowsAFullName) {
  const Product* product = FindProduct("Ascend910B4-1");
  ASSERT_NE(product, nullptr);
  EXPECT_STREQ(product->family, "Ascend910B");
  EXPECT_EQ(product->arch, Arch::k2201);
  EXPECT_EQ(product->hf32_mantissa_bits, 11);
}

TEST(FindProduct, GivesTheUsualChipOfAFamily) {
  const struct {
    const char* family;
    const char* soc_name;
  } kPairs[] = {{"Ascend910", "Ascend910A"},          {"Ascend310P", "Ascend310P3"},
                {"Ascend910_93", "Ascend910_9392"},   {"Ascend950", "Ascend950PR_9589"},
                {"Ascend910_95", "Ascend950PR_9589"}, {"Ascend310B", "Ascend310B1"}};
  for (const auto& pair : kPairs) {
    ASSERT_NE(FindProduct(pair.family), nullptr) << pair.family;
    EXPECT_STREQ(FindProduct(pair.family)->soc_name, pair.soc_name);
  }
}

TEST(FindProduct, TakesPlainAscend910BForATrainingChip) {
  ASSERT_NE(FindProduct("Ascend910B"), nullptr);
  EXPECT_EQ(FindProduct("Ascend910B")->arch, Arch::k1001);
}

TEST(FindProduct, RefusesNamesOfNoChip) {
  for (const char* name : {"", "Ascend", "ascend910b1", "Ascend310", "Ascend910B1 ", "Ascend950PR"}) {
    EXPECT_EQ(FindProduct(name), nullptr) << name;
  }
}

TEST(KnownProductNames, ListsEveryChipAndFamilyOnceAndEachIsFound) {
  const std::string names = KnownProductNames();
  int chips = 0, families = 0;
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = std::min(names.find(", ", begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    ASSERT_NE(FindProduct(name), nullptr) << name;
    ++(FindProduct(name)->soc_name == name ? chips : families);
    begin = end + 2;
  }
  EXPECT_EQ(chips, 5 + 6 + 6 + 7 + 4 + 33);
  EXPECT_EQ(families, 6);
}

TEST(ProductTable, SaysWhatEachArchitectureDoes) {
  EXPECT_FALSE(FindProduct("Ascend910A")->has_bf16);
  EXPECT_FALSE(FindProduct("Ascend310P3")->inf_nan_mode);
  EXPECT_TRUE(FindProduct("Ascend910_9363")->inf_nan_mode);
  EXPECT_FALSE(FindProduct("Ascend310B1")->inf_nan_mode);
  EXPECT_EQ(FindProduct("Ascend950PR_950z")->hf32_mantissa_bits, 10);
}

TEST(ChosenProduct, IsWhatTheEnvironmentAskedFor) {
  const char* expected = std::getenv("EXPECTED_SOC");
  if (expected == nullptr) expected = "Ascend910B1";
  if (*expected == '\0') {
    EXPECT_EQ(CurrentProduct(), nullptr);
  } else {
    ASSERT_NE(CurrentProduct(), nullptr);
    EXPECT_STREQ(CurrentProduct()->soc_name, expected);
  }
}

}  // namespace
}  // namespace canopy::product
