// SPDX-License-Identifier: Apache-2.0
#include "conv/depthwise/correlate.h"

#include <algorithm>
#include <numeric>

#include "base/checked_math.h"

namespace canopy::conv::depthwise {
namespace {

using kernels::StencilCall;
using kernels::StencilColumn;
using kernels::StencilRows;

// The least i with i * step >= value.
int64_t CeilDiv(int64_t value, int64_t step) { return value > 0 ? base::CeilDiv(value, step) : -(-value / step); }

// Results a0 + a * result_stride and taps i0 + i * tap_stride meet at source row base + (a + i) * step, which is the
// form that a kernel takes. There are result_stride times tap_stride such classes.
struct Classes {
  explicit Classes(const AxisLaw& law) {
    const int64_t common = std::gcd(law.result_step, law.tap_step);
    result_stride = law.tap_step / common;
    tap_stride = law.result_step / common;
    step = law.result_step * result_stride;
  }
  int64_t result_stride, tap_stride, step;
};

// One kernel call on the vertical axis.
struct Rows {
  int64_t result, rows;  // first result and how many; result_stride apart
  int64_t tap, taps;     // first tap and how many, 0 where none reaches the rows; tap_stride apart
  int64_t source;        // row under the first of both
  bool first;            // of those that add to these results
};

// Of a class: a + i is from low on, and below high, where there is a source row.
struct Reach {
  int64_t base, low, high;
};

template <class F>
void ForEachCall(const AxisLaw& law, const Classes& classes, const RowKernels& kernels, int most_rows, bool group,
                 const F& visit) {
  for (int64_t a0 = 0; a0 < std::min(classes.result_stride, law.results.count); ++a0) {
    const int64_t results = base::CeilDiv(law.results.count - a0, classes.result_stride);
    const int64_t size = base::PartSize(results, most_rows);
    const auto reach_from = [&](int64_t i0) {
      const int64_t base = a0 * law.result_step + i0 * law.tap_step + law.shift;
      return Reach{base, CeilDiv(-base, classes.step), CeilDiv(law.source_size - base, classes.step)};
    };
    const Reach first_reach = reach_from(0);  // mostly all there is
    for (int64_t a = 0; a < results;) {
      const int rows = kernels.Rows(std::min(size, results - a));
      const int most_taps = (group ? kernels.group(rows) : kernels.single(rows)).most_taps;
      Rows call{a0 + a * classes.result_stride, rows, 0, 0, 0, true};
      for (int64_t i0 = 0; i0 < std::min(classes.tap_stride, law.taps.count); ++i0) {
        const int64_t taps = base::CeilDiv(law.taps.count - i0, classes.tap_stride);
        const Reach reach = i0 == 0 ? first_reach : reach_from(i0);
        // Taps that some of the rows need.
        const int64_t low = std::clamp<int64_t>(reach.low - (a + rows - 1), 0, taps);
        const int64_t high = std::clamp(reach.high - a, low, taps);
        if (low == high) continue;
        const int64_t part = base::PartSize(high - low, most_taps);
        for (int64_t i = low; i < high; i += part) {
          call.tap = i0 + i * classes.tap_stride;
          call.taps = std::min(part, high - i);
          call.source = reach.base + (a + i) * classes.step;
          visit(call);
          call.first = false;
        }
      }
      if (call.first) visit(call);
      a += rows;
    }
  }
}

// An axis in floats.
struct Steps {
  Steps(const Correlation& c, int axis)
      : source_first(c.laws[axis].shift * c.source.pitch[axis]),
        source_result(c.laws[axis].result_step * c.source.pitch[axis]),
        source_tap(c.laws[axis].tap_step * c.source.pitch[axis]),
        tap_first(c.laws[axis].taps.first * c.taps.pitch[axis]),
        tap(c.laws[axis].taps.step * c.taps.pitch[axis]),
        result_first(c.laws[axis].results.first * c.result.pitch[axis]),
        result(c.laws[axis].results.step * c.result.pitch[axis]) {}

  int64_t source_first, source_result, source_tap;  // of the source, a result index and a tap index
  int64_t tap_first, tap;
  int64_t result_first, result;
};

// The rows of most calls, once blocks are evened out.
int EvenRows(const AxisLaw& law, const Classes& classes, int most, const RowKernels& kernels) {
  const int64_t results = base::CeilDiv(law.results.count, classes.result_stride);
  return results > 0 ? kernels.Rows(base::PartSize(results, most)) : 1;
}

class Correlator {
 public:
  Correlator(const Correlation& c, const AxisOrder& order, const RowKernels& kernels, int rows, StencilColumn* columns)
      : c_(c),
        order_(order),
        kernels_(kernels),
        columns_(columns),
        classes_(c.laws[order.vertical]),
        most_rows_(EvenRows(c.laws[order.vertical], classes_, rows, kernels)),
        vertical_(c, order.vertical),
        along_(c, order.along),
        across_(c, order.across) {}

  void Run() {
    for (int64_t a = 0; a < law(order_.across).results.count; ++a) {
      across_taps_ = law(order_.across).ValidTaps(a);
      source_ = c_.source.origin + along_.source_first + across_.source_first + a * across_.source_result;
      taps_ = c_.taps.origin + vertical_.tap_first + along_.tap_first + across_.tap_first;
      result_ =
          c_.result.origin + vertical_.result_first + along_.result_first + across_.result_first + a * across_.result;
      for (int64_t p = 0; p < law(order_.along).results.count;) p += Positions(p);
    }
  }

 private:
  const AxisLaw& law(int axis) const { return c_.laws[axis]; }

  // Computes some positions from `p` on, returns how many.
  int64_t Positions(int64_t p) {
    const AxisLaw& along = law(order_.along);
    const int64_t rest = along.results.count - p;
    const int64_t at_once = kernels_.group(most_rows_).at_once;
    const Range taps = along.ValidTaps(p);
    int64_t alike = 1;
    while (alike < rest && along.ValidTaps(p + alike) == taps) ++alike;
    if (alike >= at_once) {
      alike = alike / at_once * at_once;
      Columns(p, alike, at_once > 1, {taps, Range{}}, c_.accumulate);
      return alike;
    }
    if (at_once <= rest && Together(p, at_once)) return at_once;
    Columns(p, alike, false, {taps, Range{}}, c_.accumulate);
    return alike;
  }

  // Positions that share most of their taps: those at once, then what each has besides. Where that would not pay,
  // nothing is done and the answer is false.
  bool Together(int64_t p, int64_t count) {
    const AxisLaw& along = law(order_.along);
    Range shared = along.ValidTaps(p);
    int64_t all = 0;
    for (int64_t v = 0; v < count; ++v) {
      const Range taps = along.ValidTaps(p + v);
      shared = {std::max(shared.begin, taps.begin), std::min(shared.end, taps.end)};
      all += taps.size();
    }
    if (shared.size() <= 0 || 5 * count * shared.size() < 4 * all) return false;
    Columns(p, count, true, {shared, Range{}}, c_.accumulate);
    for (int64_t v = 0; v < count; ++v) {
      const Range taps = along.ValidTaps(p + v);
      if (taps == shared) continue;
      Columns(p + v, 1, false, {Range{taps.begin, shared.begin}, Range{shared.end, taps.end}}, true);
    }
    return true;
  }

  // Adds the products of all channels, the taps across and those along in both ranges to `count` positions.
  void Columns(int64_t p, int64_t count, bool group, const std::array<Range, 2>& along_taps, bool accumulate) {
    int64_t made = 0;
    for (int64_t channel = 0; channel < c_.channels; ++channel) {
      for (int64_t j = across_taps_.begin; j < across_taps_.end; ++j) {
        const int64_t source = channel * c_.source.channel_pitch + j * across_.source_tap;
        const int64_t tap = channel * c_.taps.channel_pitch + j * across_.tap;
        for (const Range& range : along_taps) {
          for (int64_t i = range.begin; i < range.end; ++i) {
            if (made == kMostColumns) {
              Call(p, count, group, made, accumulate);
              accumulate = true;
              made = 0;
            }
            columns_[made++] = {source + i * along_.source_tap, tap + i * along_.tap};
          }
        }
      }
    }
    if (made > 0 || !accumulate) Call(p, count, group, made, accumulate);
  }

  void Call(int64_t p, int64_t count, bool group, int64_t columns, bool accumulate) {
    StencilCall call;
    call.source_row = classes_.step * c_.source.pitch[order_.vertical];
    call.source_position = along_.source_result;
    call.tap_row = classes_.tap_stride * vertical_.tap;
    call.columns = columns_;
    call.result_row = classes_.result_stride * vertical_.result;
    call.result_position = along_.result;
    call.positions = count;
    const float* source = source_ + p * along_.source_result;
    float* result = result_ + p * along_.result;
    ForEachCall(law(order_.vertical), classes_, kernels_, most_rows_, group, [&](const Rows& rows) {
      call.source = source + rows.source * c_.source.pitch[order_.vertical];
      call.taps = taps_ + rows.tap * vertical_.tap;
      call.column_count = rows.taps > 0 ? columns : 0;
      call.result = result + rows.result * vertical_.result;
      call.accumulate = accumulate || !rows.first;
      // The last rows may be fewer, and kernels of fewer rows take other numbers of positions.
      const StencilRows& several = kernels_.group(static_cast<int>(rows.rows));
      const bool fits = group && count % several.at_once == 0;
      const StencilRows& chosen = fits ? several : kernels_.single(static_cast<int>(rows.rows));
      chosen.vectors[std::max<int64_t>(rows.taps, 1)](call);
    });
  }

  const Correlation& c_;
  const AxisOrder& order_;
  const RowKernels& kernels_;
  StencilColumn* columns_;
  const Classes classes_;
  const int most_rows_;
  const Steps vertical_, along_, across_;
  Range across_taps_;
  const float* source_ = nullptr;
  const float* taps_ = nullptr;
  float* result_ = nullptr;
};

}  // namespace

RowKernels::RowKernels() {
  const kernels::StencilKernels& list = kernels::Stencils();
  for (int i = 0; i < list.count; ++i) {
    const StencilRows& entry = list.rows[i];
    (entry.at_once == 1 ? single_ : group_)[entry.rows] = &entry;
  }
  for (int rows = 1; rows <= kernels::kMostStencilRows; ++rows) {
    if (group_[rows] == nullptr) group_[rows] = single_[rows];
  }
}

int RowKernels::Rows(int64_t wanted) const {
  int rows = static_cast<int>(std::min<int64_t>(wanted, kernels::kMostStencilRows));
  while (rows > 1 && single_[rows] == nullptr) --rows;
  return rows;
}

Margins MarginsFor(const AxisLaw& law, int rows) {
  const int64_t reach = (rows - 1) * Classes(law).step;
  const int64_t last = law.shift + (law.results.count - 1) * law.result_step + (law.taps.count - 1) * law.tap_step;
  return {std::clamp<int64_t>(-law.shift, 0, reach), std::clamp<int64_t>(last - (law.source_size - 1), 0, reach)};
}

void Correlate(const Correlation& correlation, const AxisOrder& order, const RowKernels& kernels, int rows,
               StencilColumn* columns) {
  Correlator(correlation, order, kernels, rows, columns).Run();
}

bool SameCalls(const AxisLaw& law, int rows, int others) {
  const int64_t classes = Classes(law).result_stride, least = law.results.count / classes;
  const int64_t most = base::CeilDiv(law.results.count, classes);
  return base::PartSize(least, rows) == base::PartSize(least, others) &&
         base::PartSize(most, rows) == base::PartSize(most, others);
}

double VerticalWork(const AxisLaw& law, int rows, int64_t positions, const RowKernels& kernels) {
  double work = 0;
  const Classes classes(law);
  const bool group = kernels.group(EvenRows(law, classes, rows, kernels)).at_once <= positions;
  ForEachCall(law, classes, kernels, rows, group, [&](const Rows& call) {
    const int at_once = group ? kernels.group(static_cast<int>(call.rows)).at_once : 1;
    const double products = static_cast<double>(call.rows * call.taps);
    // Four cycles until a sum is ready for its next term, and a cycle a load: eight and two multiply-adds.
    const double turns = static_cast<double>(call.taps) / at_once, latency = 8.0 * turns;
    const double loads = 2.0 * (static_cast<double>(call.rows + call.taps - 1) + turns);
    work += std::max({products, latency, loads});
  });
  return work;
}

}  // namespace canopy::conv::depthwise
