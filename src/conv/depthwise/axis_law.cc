// SPDX-License-Identifier: Apache-2.0
#include "conv/depthwise/axis_law.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/grid.h"

namespace canopy::conv::depthwise {
namespace {

// The least i with i * step >= value.
int64_t CeilDiv(int64_t value, int64_t step) { return value > 0 ? base::CeilDiv(value, step) : -(-value / step); }

// Those indices of `map` whose coordinate lies in `coordinates`. REQUIRES: map.step > 0.
Range Inside(const IndexMap& map, Range coordinates) {
  const int64_t begin = std::clamp<int64_t>(CeilDiv(coordinates.begin - map.first, map.step), 0, map.count);
  return {begin, std::clamp(CeilDiv(coordinates.end - map.first, map.step), begin, map.count)};
}

// `map` for the indices `kept` only, coordinates counted from `origin`.
IndexMap Cut(const IndexMap& map, Range kept, int64_t origin) {
  return {kept.size(), map.first + kept.begin * map.step - origin, map.step};
}

// A phase of backward data: its taps' shifts fall as their kernel offsets grow, evenly both.
AxisLaw LawOfPhase(const AxisPhase& phase, int64_t source_size) {
  const int64_t count = static_cast<int64_t>(phase.taps.size());
  const AxisTap& last = phase.taps.back();
  const AxisTap& before = phase.taps[count > 1 ? count - 2 : 0];
  AxisLaw law;
  law.results = {phase.walk, phase.result_shift, phase.result_step};
  law.taps = {count, last.kernel, before.kernel - last.kernel};
  law.tap_step = count > 1 ? before.shift - last.shift : 1;
  law.shift = last.shift;
  law.source_size = source_size;
  return law;
}

}  // namespace

Range AxisLaw::ValidTaps(int64_t a) const {
  const int64_t at = a * result_step + shift;
  const int64_t begin = std::clamp<int64_t>(CeilDiv(-at, tap_step), 0, taps.count);
  return {begin, std::clamp(CeilDiv(source_size - at, tap_step), begin, taps.count)};
}

Range AxisLaw::Sources() const {
  const int64_t last = shift + (results.count - 1) * result_step + (taps.count - 1) * tap_step;
  const int64_t begin = std::clamp<int64_t>(shift, 0, source_size);
  return {begin, std::clamp(last + 1, begin, source_size)};
}

AxisLaw AxisLaw::WithResults(Range coordinates) const {
  AxisLaw law = *this;
  const Range kept = Inside(results, coordinates);
  law.results = Cut(results, kept, coordinates.begin);
  law.shift += kept.begin * result_step;
  return law;
}

AxisLaw AxisLaw::WithTaps(Range coordinates) const {
  AxisLaw law = *this;
  const Range kept = Inside(taps, coordinates);
  law.taps = Cut(taps, kept, coordinates.begin);
  law.shift += kept.begin * tap_step;
  return law;
}

AxisLaw AxisLaw::WithSources(Range sources) const {
  AxisLaw law = *this;
  law.shift -= sources.begin;
  law.source_size = sources.size();
  return law;
}

std::vector<AxisLaw> LawsOfAxis(const Geometry& g, Computation computation, int axis, bool* gaps) {
  if (computation == kBackwardData) {
    std::vector<AxisLaw> laws;
    for (const AxisPhase& phase : BackwardDataPhases(g, axis, gaps)) {
      laws.push_back(LawOfPhase(phase, g.output_size[axis]));
    }
    return laws;
  }
  const bool forward = computation == kForward;
  AxisLaw law;
  law.results.count = forward ? g.output_size[axis] : g.kernel[axis];
  law.taps.count = forward ? g.kernel[axis] : g.output_size[axis];
  law.result_step = forward ? g.stride[axis] : g.dilation[axis];
  law.tap_step = forward ? g.dilation[axis] : g.stride[axis];
  law.shift = -g.pad_begin[axis];
  law.source_size = g.input_size[axis];
  return {law};
}

}  // namespace canopy::conv::depthwise
