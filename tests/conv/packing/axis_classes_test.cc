// SPDX-License-Identifier: Apache-2.0
// Both cuts of an axis hold every pair of a position and a tap whose pixel exists once, and no other; a position's
// results are first given and then added to.
#include "conv/packing/axis_classes.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>

#include "tests/conv/random_case.h"

namespace canopy::conv::packing {
namespace {

constexpr int kAxis = 2;

using Pairs = std::map<std::tuple<int64_t, int64_t, int64_t>, int>;  // result, kernel, source: how often

Pairs PairsOf(const std::vector<AxisClass>& classes) {
  Pairs pairs;
  for (const AxisClass& one : classes) {
    for (int64_t i = 0; i < one.count; ++i) {
      for (const AxisClass::Tap& tap : one.taps) {
        ++pairs[{one.first + i * one.step, tap.kernel, tap.source + i * one.source_step}];
      }
    }
  }
  return pairs;
}

Pairs Defined(const Geometry& g, bool forward) {
  Pairs pairs;
  for (int64_t o = 0; o < g.output_size[kAxis]; ++o) {
    for (int64_t k = 0; k < g.kernel[kAxis]; ++k) {
      const int64_t i = o * g.stride[kAxis] + k * g.dilation[kAxis] - g.pad_begin[kAxis];
      if (i < 0 || i >= g.input_size[kAxis]) continue;
      pairs[forward ? std::tuple(o, k, i) : std::tuple(i, k, o)] = 1;
    }
  }
  return pairs;
}

// Whether each position is given a result by one class, the first that has it.
::testing::AssertionResult GivesEachOnce(const std::vector<AxisClass>& classes, int64_t size) {
  std::vector<bool> given(static_cast<size_t>(size));
  for (const AxisClass& one : classes) {
    for (int64_t i = 0; i < one.count; ++i) {
      const int64_t at = one.first + i * one.step;
      if (given.at(at) != one.adds) {
        return ::testing::AssertionFailure() << at << (one.adds ? " is added to too early" : " is given twice");
      }
      given[at] = true;
    }
  }
  for (int64_t at = 0; at < size; ++at) {
    if (!given[at]) return ::testing::AssertionFailure() << at << " has no result";
  }
  return ::testing::AssertionSuccess();
}

TEST(AxisClasses, HoldEveryPairOnceByPositionsAndByTaps) {
  bool added = false, fell_back = false;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    Draw draw(seed);
    Geometry g;
    g.input_size[kAxis] = draw(1, 12);
    g.kernel[kAxis] = draw(1, 7);
    g.stride[kAxis] = draw(1, 3);
    g.dilation[kAxis] = draw(1, 3);
    g.pad_begin[kAxis] = draw(0, 6);
    const int64_t pad_end = draw(0, 6), reach = (g.kernel[kAxis] - 1) * g.dilation[kAxis];
    const int64_t room = g.input_size[kAxis] + g.pad_begin[kAxis] + pad_end - reach - 1;
    if (room < 0) continue;
    g.output_size[kAxis] = room / g.stride[kAxis] + 1;
    for (const bool forward : {false, true}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + (forward ? ", forward" : ""));
      const int64_t size = (forward ? g.output_size : g.input_size)[kAxis];
      const std::vector<AxisClass> positions = AxisClasses(g, kAxis, forward);
      const std::vector<AxisClass> taps = AxisClassesByTaps(g, kAxis, forward);
      ASSERT_EQ(PairsOf(positions), Defined(g, forward));
      ASSERT_EQ(PairsOf(taps), Defined(g, forward));
      ASSERT_TRUE(GivesEachOnce(positions, size));
      ASSERT_TRUE(GivesEachOnce(taps, size));
      for (const AxisClass& one : taps) added = added || one.adds;
      fell_back = fell_back || (positions.size() > 1 && !taps.back().adds && taps.size() == positions.size());
    }
  }
  EXPECT_TRUE(added);
  EXPECT_TRUE(fell_back);
}

TEST(AxisClasses, ByTapsAddToTheTapThatAllPositionsMeet) {
  Geometry g;
  g.input_size[kAxis] = g.output_size[kAxis] = 8;
  g.kernel[kAxis] = 5;
  g.pad_begin[kAxis] = 2;
  const std::vector<AxisClass> classes = AxisClassesByTaps(g, kAxis, true);
  ASSERT_EQ(classes.size(), 5u);
  EXPECT_FALSE(classes[0].adds);
  EXPECT_EQ(classes[0].count, 8);
  ASSERT_EQ(classes[0].taps.size(), 1u);
  EXPECT_EQ(classes[0].taps[0].kernel, 2);
  int64_t counts = 0;
  for (const AxisClass& one : classes) counts += one.count;
  EXPECT_EQ(counts, 8 + 7 + 7 + 6 + 6);
}

}  // namespace
}  // namespace canopy::conv::packing
