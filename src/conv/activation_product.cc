// SPDX-License-Identifier: Apache-2.0
#include "conv/activation_product.h"

#include "conv/elements.h"

namespace canopy::conv {

ActivationProduct::ActivationProduct(const ConvProblem& problem, Computation computation)
    : forward(computation == kForward) {
  const Geometry& g = problem.geometry;
  source = forward ? problem.input : problem.output;
  result = forward ? problem.output_result : problem.input_result;
  source_size = forward ? g.input_size : g.output_size;
  result_size = forward ? g.output_size : g.input_size;
  source_channels = forward ? g.group_input_channels() : g.group_output_channels();
  result_channels = forward ? g.group_output_channels() : g.group_input_channels();
  weight_result_stride = problem.weight.strides[forward ? 0 : 1];
  weight_source_stride = problem.weight.strides[forward ? 1 : 0];
  for (int axis = 0; axis < 3; ++axis) {
    weight_tap_strides[axis] = problem.weight.strides[2 + axis];
    bool axis_gaps = false;
    axis_phases_[axis] = forward ? ForwardPhases(g, axis) : BackwardDataPhases(g, axis, &axis_gaps);
    gaps = gaps || axis_gaps;
    for (const AxisPhase& phase : axis_phases_[axis]) padding = padding || TouchesPadding(phase, source_size[axis]);
  }
  for (const AxisPhase& d : axis_phases_[0]) {
    for (const AxisPhase& h : axis_phases_[1]) {
      for (const AxisPhase& w : axis_phases_[2]) {
        PhaseTriple phase;
        phase.axes = {&d, &h, &w};
        phase.pixels = g.batch * d.walk * h.walk * w.walk;
        phase.taps = static_cast<int64_t>(d.taps.size() * h.taps.size() * w.taps.size());
        if (phase.pixels > 0) phases.push_back(phase);
      }
    }
  }
}

int64_t ActivationProduct::TapWeightOffset(const PhaseTriple& phase, int64_t index, PixelMap* map) const {
  const auto& [d, h, w] = phase.axes;
  const int64_t taps_w = static_cast<int64_t>(w->taps.size()), taps_h = static_cast<int64_t>(h->taps.size());
  const AxisTap* taps[3] = {&d->taps[index / (taps_w * taps_h)], &h->taps[index / taps_w % taps_h],
                            &w->taps[index % taps_w]};
  int64_t offset = 0;
  for (int axis = 0; axis < 3; ++axis) {
    offset += taps[axis]->kernel * weight_tap_strides[axis];
    map->walk[axis] = phase.axes[axis]->walk;
    map->step[axis] = phase.axes[axis]->source_step;
    map->shift[axis] = taps[axis]->shift;
    map->size[axis] = source_size[axis];
    map->stride[axis] = source.strides[2 + axis];
  }
  map->batch_stride = source.strides[0];
  return offset;
}

PixelMap ActivationProduct::ResultMap(const PhaseTriple& phase) const {
  PixelMap map;
  for (int axis = 0; axis < 3; ++axis) {
    map.walk[axis] = phase.axes[axis]->walk;
    map.step[axis] = phase.axes[axis]->result_step;
    map.shift[axis] = phase.axes[axis]->result_shift;
    map.size[axis] = result_size[axis];
    map.stride[axis] = result.strides[2 + axis];
  }
  map.batch_stride = result.strides[0];
  return map;
}

void ActivationProduct::FillGaps(const ConvProblem& problem, const Buffers& buffers, const LineWriter& writer,
                                 int64_t row) const {
  const int64_t channels = result_channels * problem.geometry.groups;
  const int64_t n = row / channels, channel = row % channels;
  const float value = problem.has_bias ? LoadBias(problem, buffers, channel) : 0;
  const auto& strides = result.strides;
  const kernels::Segment one{0, 0, 1};
  for (int64_t d = 0; d < result_size[0]; ++d) {
    for (int64_t h = 0; h < result_size[1]; ++h) {
      const int64_t offset = n * strides[0] + channel * strides[1] + d * strides[2] + h * strides[3];
      for (int64_t w = 0; w < result_size[2]; ++w) writer.Store(offset + w * strides[4], &one, 1, 1, &value);
    }
  }
}

}  // namespace canopy::conv
