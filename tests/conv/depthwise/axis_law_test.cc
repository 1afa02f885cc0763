// SPDX-License-Identifier: Apache-2.0
#include "conv/depthwise/axis_law.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

namespace canopy::conv::depthwise {
namespace {

using Triple = std::tuple<int64_t, int64_t, int64_t>;  // output, kernel and input coordinate that meet

Geometry RandomGeometry(std::mt19937* random) {
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(*random);
  };
  Geometry g;
  g.output_size[1] = draw(1, 9);
  g.kernel[1] = draw(1, 6);
  g.stride[1] = draw(1, 4);
  g.dilation[1] = draw(1, 4);
  g.pad_begin[1] = draw(0, 5);
  const int64_t reach = (g.output_size[1] - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1;
  g.input_size[1] = std::max<int64_t>(1, reach - g.pad_begin[1] - draw(0, 3) + draw(0, 2));
  return g;
}

std::set<Triple> Definition(const Geometry& g) {
  std::set<Triple> triples;
  for (int64_t o = 0; o < g.output_size[1]; ++o) {
    for (int64_t k = 0; k < g.kernel[1]; ++k) {
      const int64_t i = o * g.stride[1] - g.pad_begin[1] + k * g.dilation[1];
      if (i >= 0 && i < g.input_size[1]) triples.insert({o, k, i});
    }
  }
  return triples;
}

// What the law pairs, in the order (result, tap, source), each found once; coordinates moved by `origins`.
void Collect(const AxisLaw& law, const Triple& origins, std::multiset<Triple>* triples) {
  for (int64_t a = 0; a < law.results.count; ++a) {
    const Range valid = law.ValidTaps(a);
    ASSERT_LE(0, valid.begin);
    ASSERT_LE(valid.end, law.taps.count);
    for (int64_t i = valid.begin; i < valid.end; ++i) {
      triples->insert({law.results.first + a * law.results.step + std::get<0>(origins),
                       law.taps.first + i * law.taps.step + std::get<1>(origins),
                       a * law.result_step + i * law.tap_step + law.shift + std::get<2>(origins)});
    }
  }
}

Triple AsDefinition(Computation computation, const Triple& t) {
  const auto [result, tap, source] = t;
  if (computation == kForward) return {result, tap, source};
  if (computation == kBackwardData) return {source, tap, result};
  return {tap, result, source};
}

std::set<Triple> AsDefinition(Computation computation, const std::multiset<Triple>& triples) {
  std::set<Triple> all;
  for (const Triple& t : triples) EXPECT_TRUE(all.insert(AsDefinition(computation, t)).second) << "met twice";
  return all;
}

TEST(AxisLawTest, ResultsAndTapsMeetExactlyWhereTheConvolutionSays) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const Geometry g = RandomGeometry(&random);
    for (const Computation computation : {kForward, kBackwardData, kBackwardWeights}) {
      bool gaps = false;
      std::multiset<Triple> triples;
      for (const AxisLaw& law : LawsOfAxis(g, computation, 1, &gaps)) Collect(law, {}, &triples);
      ASSERT_EQ(AsDefinition(computation, triples), Definition(g)) << "round " << round << " of " << computation;
    }
  }
}

// Pieces of the results (or of the taps), each over no more of the source than it needs, make up the whole.
TEST(AxisLawTest, PiecesAddUpToTheWhole) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    const Geometry g = RandomGeometry(&random);
    for (const Computation computation : {kForward, kBackwardData, kBackwardWeights}) {
      const bool cut_results = computation != kBackwardWeights;
      const int64_t extent = computation == kBackwardData ? g.input_size[1] : g.output_size[1];
      const int64_t part = std::uniform_int_distribution<int64_t>(1, extent)(random);
      bool gaps = false;
      std::multiset<Triple> triples;
      for (const AxisLaw& law : LawsOfAxis(g, computation, 1, &gaps)) {
        for (int64_t begin = 0; begin < extent; begin += part) {
          const Range range{begin, std::min(extent, begin + part)};
          const AxisLaw cut = cut_results ? law.WithResults(range) : law.WithTaps(range);
          if (cut.results.count == 0 || cut.taps.count == 0) continue;
          const Range sources = cut.Sources();
          Collect(cut.WithSources(sources), {cut_results ? begin : 0, cut_results ? 0 : begin, sources.begin},
                  &triples);
        }
      }
      ASSERT_EQ(AsDefinition(computation, triples), Definition(g)) << "round " << round << " of " << computation;
    }
  }
}

}  // namespace
}  // namespace canopy::conv::depthwise
