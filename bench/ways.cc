// SPDX-License-Identifier: Apache-2.0
#include "bench/ways.h"

#include <algorithm>
#include <set>

namespace canopy::bench {
namespace {

constexpr const char kDetour[] = "f32-";

std::string FamilyOfOne(const std::string& way) {
  const bool detour = way.starts_with(kDetour);
  return std::string(detour ? kDetour : "") + (way.find("wino") == way.npos ? "direct" : "winograd");
}

std::set<std::string> Families(const Medians& medians) {
  std::set<std::string> families;
  for (const auto& [way, median] : medians) families.insert(FamilyOf(way));
  return families;
}

// Fastest of a family; without such a way the fastest of the family's direct ones. "" where there is none.
std::string Fastest(const Medians& medians, const std::string& family) {
  std::string best;
  for (const auto& [way, median] : medians) {
    if (FamilyOf(way) == family && (best.empty() || median < medians.at(best))) best = way;
  }
  const size_t winograd = family.find("winograd");
  return best.empty() && winograd != family.npos ? Fastest(medians, family.substr(0, winograd) + "direct") : best;
}

std::string FastestOfAll(const Medians& medians) {
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::min_element(medians.begin(), medians.end(), less)->first;
}

}  // namespace

std::string FamilyOf(const std::string& way) {
  const size_t plus = way.find('+');
  if (plus == way.npos) return FamilyOfOne(way);
  const std::string first = FamilyOfOne(way.substr(0, plus)), second = FamilyOfOne(way.substr(plus + 1));
  return std::max(first, second);  // "direct" < "f32-direct" < "f32-winograd" < "winograd"
}

std::vector<std::string> Promising(const Medians& medians, double slack) {
  std::vector<std::string> kept;
  for (const auto& [way, median] : medians) {
    if (median <= slack * medians.at(Fastest(medians, FamilyOf(way)))) kept.push_back(way);
  }
  return kept;
}

std::vector<std::string> Combine(const Medians& data, const Medians& weights) {
  constexpr double kSlack = 1.15;  // what sharing a reorder may save
  if (weights.empty()) return Promising(data, kSlack);
  if (data.empty()) return Promising(weights, kSlack);
  std::set<std::string> ways;
  std::set<std::string> families = Families(data);
  families.merge(Families(weights));
  for (const std::string& family : families) {
    const std::string of_data = Fastest(data, family), of_weights = Fastest(weights, family);
    if (of_data.empty() || of_weights.empty()) continue;
    ways.insert(of_data + "+" + of_weights);
    const double together = data.at(of_data) + weights.at(of_weights);
    for (const auto& [way, median] : data) {
      const auto other = weights.find(way);
      if (FamilyOf(way) != family || other == weights.end()) continue;
      if (median + other->second <= kSlack * together) ways.insert(way + "+" + way);
    }
  }
  ways.insert(FastestOfAll(data) + "+" + FastestOfAll(weights));
  return {ways.begin(), ways.end()};
}

}  // namespace canopy::bench
