// SPDX-License-Identifier: Apache-2.0
#include "conv/packing/axis_classes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/checked_math.h"
#include "conv/grid.h"

namespace canopy::conv::packing {
namespace {

using base::CeilDiv;

// Walked positions [low, high) of the phase whose source coordinate under `tap` exists.
void ValidRange(const AxisPhase& phase, const AxisTap& tap, int64_t source_size, int64_t* low, int64_t* high) {
  *low = std::min(phase.walk, tap.shift >= 0 ? 0 : CeilDiv(-tap.shift, phase.source_step));
  const int64_t end = source_size <= tap.shift ? 0 : CeilDiv(source_size - tap.shift, phase.source_step);
  *high = std::max(*low, std::min(phase.walk, end));
}

void CutPhase(const AxisPhase& phase, int64_t source_size, std::vector<AxisClass>* classes) {
  std::vector<int64_t> cuts;
  cuts.reserve(2 * phase.taps.size() + 2);
  cuts.assign({0, phase.walk});
  for (const AxisTap& tap : phase.taps) {
    int64_t low, high;
    ValidRange(phase, tap, source_size, &low, &high);
    cuts.push_back(low);
    cuts.push_back(high);
  }
  std::sort(cuts.begin(), cuts.end());
  for (size_t c = 0; c + 1 < cuts.size(); ++c) {
    const int64_t begin = cuts[c], end = cuts[c + 1];
    if (begin == end) continue;
    AxisClass made{
        phase.result_shift + begin * phase.result_step, phase.result_step, end - begin, phase.source_step, {}};
    made.taps.reserve(phase.taps.size());
    for (const AxisTap& tap : phase.taps) {
      int64_t low, high;
      ValidRange(phase, tap, source_size, &low, &high);
      if (low <= begin && end <= high) made.taps.push_back({tap.kernel, tap.shift + begin * phase.source_step});
    }
    classes->push_back(std::move(made));
  }
}

void CutPhaseByTaps(const AxisPhase& phase, int64_t source_size, std::vector<AxisClass>* classes) {
  AxisClass whole{phase.result_shift, phase.result_step, phase.walk, phase.source_step, {}};
  std::vector<AxisClass> parts;
  for (const AxisTap& tap : phase.taps) {
    int64_t low, high;
    ValidRange(phase, tap, source_size, &low, &high);
    if (low == high) continue;
    AxisClass part{phase.result_shift + low * phase.result_step,
                   phase.result_step,
                   high - low,
                   phase.source_step,
                   {{tap.kernel, tap.shift + low * phase.source_step}},
                   true};
    if (part.count == whole.count) {
      whole.taps.push_back(part.taps[0]);
    } else if (!parts.empty() && parts.back().first == part.first && parts.back().count == part.count) {
      parts.back().taps.push_back(part.taps[0]);
    } else {
      parts.push_back(std::move(part));
    }
  }
  if (whole.taps.empty()) return CutPhase(phase, source_size, classes);
  classes->push_back(std::move(whole));
  std::move(parts.begin(), parts.end(), std::back_inserter(*classes));
}

using CutPhaseFn = void(const AxisPhase& phase, int64_t source_size, std::vector<AxisClass>* classes);

std::vector<AxisClass> CutAxis(const Geometry& g, int axis, bool forward, CutPhaseFn* cut) {
  bool gaps = false;
  const std::vector<AxisPhase> phases = forward ? ForwardPhases(g, axis) : BackwardDataPhases(g, axis, &gaps);
  std::vector<AxisClass> classes;
  for (const AxisPhase& phase : phases) cut(phase, (forward ? g.input_size : g.output_size)[axis], &classes);
  if (!gaps) return classes;
  const int64_t size = g.input_size[axis];
  for (int64_t residue = 0; residue < std::min(g.stride[axis], size); ++residue) {
    const bool reached = std::any_of(phases.begin(), phases.end(),
                                     [residue](const AxisPhase& phase) { return phase.result_shift == residue; });
    if (!reached) classes.push_back({residue, g.stride[axis], CeilDiv(size - residue, g.stride[axis]), 1, {}});
  }
  return classes;
}

}  // namespace

void AxisClass::Clip(int64_t begin, int64_t end, int64_t* low, int64_t* high) const {
  const int64_t last = first + (count - 1) * step;
  *low = begin <= first ? 0 : begin > last ? count : CeilDiv(begin - first, step);
  *high = end <= first ? 0 : end > last ? count : CeilDiv(end - first, step);
  *high = std::max(*low, *high);
}

std::vector<AxisClass> AxisClasses(const Geometry& g, int axis, bool forward) {
  return CutAxis(g, axis, forward, CutPhase);
}

std::vector<AxisClass> AxisClassesByTaps(const Geometry& g, int axis, bool forward) {
  return CutAxis(g, axis, forward, CutPhaseByTaps);
}

AxisRange SourceRange(const std::vector<AxisClass>& classes, int64_t step, int64_t begin, int64_t end) {
  AxisRange range{0, step, 0};
  int64_t last = -1;
  for (const AxisClass& one : classes) {
    int64_t low, high;
    one.Clip(begin, end, &low, &high);
    if (low == high) continue;
    for (const AxisClass::Tap& tap : one.taps) {
      const int64_t from = tap.source + low * one.source_step, to = tap.source + (high - 1) * one.source_step;
      if (last < 0 || from < range.begin) range.begin = from;
      last = std::max(last, to);
    }
  }
  if (last >= 0) range.count = (last - range.begin) / step + 1;
  return range;
}

int64_t LoadStep(const std::vector<AxisClass>& classes) {
  int64_t step = 0, residue = 0;
  for (const AxisClass& one : classes) {
    for (const AxisClass::Tap& tap : one.taps) {
      if (step == 0) {
        step = one.source_step;
        residue = tap.source % step;
      }
      if (one.source_step != step || tap.source % step != residue) return 1;
    }
  }
  return std::max<int64_t>(1, step);
}

}  // namespace canopy::conv::packing
