// SPDX-License-Identifier: Apache-2.0
#include "conv/depthwise/axis_order.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::conv::depthwise {
namespace {

// Long axes are judged by their beginning: a plan must not take longer for them.
constexpr int64_t kJudged = 512;

// What a kernel's call costs before its first term, in vector multiply-adds at the peak rate.
constexpr double kCallWork = 250;

AxisLaw Beginning(AxisLaw law, double* scale) {
  *scale = 1;
  if (law.results.count <= kJudged) return law;
  *scale = static_cast<double>(law.results.count) / static_cast<double>(kJudged);
  law.results.count = kJudged;
  return law;
}

// Pairs of a result and a tap that meet, over all laws of an axis.
double Pairs(const std::vector<AxisLaw>& laws) {
  double pairs = 0;
  for (const AxisLaw& whole : laws) {
    double scale;
    const AxisLaw law = Beginning(whole, &scale);
    double sum = 0;
    for (int64_t a = 0; a < law.results.count; ++a) sum += static_cast<double>(law.ValidTaps(a).size());
    pairs += sum * scale;
  }
  return pairs;
}

double VerticalWorkOf(const std::vector<AxisLaw>& laws, int rows, int64_t positions, const RowKernels& kernels) {
  double work = 0;
  for (const AxisLaw& whole : laws) {
    double scale;
    const AxisLaw law = Beginning(whole, &scale);
    work += VerticalWork(law, rows, positions, kernels) * scale;
  }
  return work;
}

bool SameCalls(const std::vector<AxisLaw>& laws, int rows, int others) {
  return std::all_of(laws.begin(), laws.end(), [&](const AxisLaw& law) {
    double scale;
    return SameCalls(Beginning(law, &scale), rows, others);
  });
}

int64_t MostResults(const std::vector<AxisLaw>& laws) {
  int64_t most = 0;
  for (const AxisLaw& law : laws) most = std::max(most, law.results.count);
  return most;
}

int64_t MostTaps(const std::vector<AxisLaw>& laws) {
  int64_t most = 0;
  for (const AxisLaw& law : laws) most = std::max(most, law.taps.count);
  return most;
}

// Kernel calls of one pair of channels. Positions along that meet all taps share one; the others are fewer than taps.
double CallsOf(const LawLists& laws, const AxisOrder& order, int rows) {
  double blocks = 0;
  for (const AxisLaw& law : laws[order.vertical]) {
    blocks += static_cast<double>(base::CeilDiv(law.results.count, static_cast<int64_t>(rows)));
  }
  const int64_t along = std::min(MostResults(laws[order.along]), MostTaps(laws[order.along]));
  return blocks * static_cast<double>(along * MostResults(laws[order.across]));
}

}  // namespace

OrderChoice ChooseOrder(const LawLists& laws, const RowKernels& kernels) {
  OrderChoice best;
  const double pairs[3] = {Pairs(laws[0]), Pairs(laws[1]), Pairs(laws[2])};
  bool first = true;
  for (const int vertical : {1, 2, 0}) {
    AxisOrder order;
    order.vertical = vertical;
    order.along = vertical == 2 ? 1 : 2;
    order.across = 3 - order.vertical - order.along;
    if (MostResults(laws[order.across]) > MostResults(laws[order.along])) std::swap(order.across, order.along);
    const int64_t positions = MostResults(laws[order.along]);
    int before = 0;
    for (int rows = kernels::kMostStencilRows; rows >= 1; --rows) {
      if (kernels.Rows(rows) != rows || (before != 0 && SameCalls(laws[vertical], rows, before))) continue;
      before = rows;
      const double work =
          VerticalWorkOf(laws[vertical], rows, positions, kernels) * pairs[order.along] * pairs[order.across];
      if (!first && work >= best.work) continue;
      best = {order, rows, work};
      first = false;
    }
  }
  best.work += kCallWork * CallsOf(laws, best.order, best.rows);
  return best;
}

Range SourcesOf(const std::vector<AxisLaw>& laws, Range part, bool parts_are_results) {
  Range all{0, 0};
  for (const AxisLaw& law : laws) {
    const AxisLaw cut = parts_are_results ? law.WithResults(part) : law.WithTaps(part);
    if (cut.results.count == 0 || cut.taps.count == 0) continue;
    const Range sources = cut.Sources();
    if (sources.size() == 0) continue;
    all = all.size() == 0 ? sources : Range{std::min(all.begin, sources.begin), std::max(all.end, sources.end)};
  }
  return all;
}

int64_t MostSources(const std::vector<AxisLaw>& laws, int64_t extent, int64_t part, bool parts_are_results) {
  int64_t most = 0;
  for (int64_t begin = 0; begin < extent; begin += part) {
    most = std::max(most, SourcesOf(laws, {begin, std::min(extent, begin + part)}, parts_are_results).size());
  }
  return most;
}

std::string DescribeOrder(const OrderChoice& choice) {
  const char* names[] = {"depth", "height", "width"};
  return std::to_string(choice.rows) + " rows along " + names[choice.order.vertical];
}

}  // namespace canopy::conv::depthwise
