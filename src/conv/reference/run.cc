// SPDX-License-Identifier: Apache-2.0
#include "conv/reference/run.h"

#include "conv/elements.h"
#include "exec/pool.h"

namespace canopy::conv::reference {
namespace {

void Write(void* base, const Operand& operand, int64_t a, int64_t b, const Extent3& at, double value, bool saturate) {
  numerics::StoreElement(static_cast<char*>(base) + ElementOffset(operand, a, b, at), operand.dtype,
                         static_cast<float>(value), saturate);
}

double BiasAt(const ConvProblem& p, const Buffers& b, int64_t channel) {
  return p.has_bias ? LoadBias(p, b, channel) : 0;
}

void ForwardRow(const ConvProblem& p, const Buffers& b, int64_t n, int64_t co) {
  const Geometry& g = p.geometry;
  const ElementReader input(b.input, p.input, p.rule), weight(b.weight, p.weight, p.rule);
  const int64_t cg = g.group_input_channels();
  const int64_t first = co / g.group_output_channels() * cg;
  for (int64_t o = 0; o < Volume(g.output_size); ++o) {
    const Extent3 out = Unflatten(o, g.output_size);
    double sum = BiasAt(p, b, co);
    for (int64_t t = 0; t < g.taps(); ++t) {
      const Extent3 tap = Unflatten(t, g.kernel);
      Extent3 in;
      if (!InputAt(g, out, tap, &in)) continue;
      for (int64_t c = 0; c < cg; ++c) sum += double{input(n, first + c, in)} * weight(co, c, tap);
    }
    Write(b.output_result, p.output_result, n, co, out, sum, p.rule.saturate);
  }
}

void BackwardDataRow(const ConvProblem& p, const Buffers& b, int64_t n, int64_t ci) {
  const Geometry& g = p.geometry;
  const ElementReader output(b.output, p.output, p.rule), weight(b.weight, p.weight, p.rule);
  const int64_t og = g.group_output_channels(), cg = g.group_input_channels();
  const int64_t first = ci / cg * og;
  for (int64_t i = 0; i < Volume(g.input_size); ++i) {
    const Extent3 in = Unflatten(i, g.input_size);
    double sum = BiasAt(p, b, ci);
    for (int64_t t = 0; t < g.taps(); ++t) {
      const Extent3 tap = Unflatten(t, g.kernel);
      Extent3 out;
      if (!OutputAt(g, in, tap, &out)) continue;
      for (int64_t co = first; co < first + og; ++co) sum += double{output(n, co, out)} * weight(co, ci % cg, tap);
    }
    Write(b.input_result, p.input_result, n, ci, in, sum, p.rule.saturate);
  }
}

void BackwardWeightsRow(const ConvProblem& p, const Buffers& b, int64_t co, int64_t c) {
  const Geometry& g = p.geometry;
  const ElementReader input(b.input, p.input, p.rule), output(b.output, p.output, p.rule);
  const int64_t ci = co / g.group_output_channels() * g.group_input_channels() + c;
  for (int64_t t = 0; t < g.taps(); ++t) {
    const Extent3 tap = Unflatten(t, g.kernel);
    double sum = 0;
    for (int64_t n = 0; n < g.batch; ++n) {
      for (int64_t o = 0; o < Volume(g.output_size); ++o) {
        const Extent3 out = Unflatten(o, g.output_size);
        Extent3 in;
        if (InputAt(g, out, tap, &in)) sum += double{output(n, co, out)} * input(n, ci, in);
      }
    }
    Write(b.weight_result, p.weight_result, co, c, tap, sum, p.rule.saturate);
  }
}

void BiasElement(const ConvProblem& p, const Buffers& b, Computation computation, int64_t channel) {
  const bool from_output = computation == kBiasFromOutput;
  const Extent3& size = from_output ? p.geometry.output_size : p.geometry.input_size;
  const ElementReader source(from_output ? b.output : b.input, from_output ? p.output : p.input,
                             numerics::NumericRule{});
  double sum = 0;
  for (int64_t n = 0; n < p.geometry.batch; ++n) {
    for (int64_t i = 0; i < Volume(size); ++i) sum += source(n, channel, Unflatten(i, size));
  }
  Write(b.bias_result, p.bias_result, 0, channel, {0, 0, 0}, sum, p.rule.saturate);
}

}  // namespace

void RunReference(const ConvProblem& p, Computation computation, const Buffers& b, bool serial) noexcept {
  const Geometry& g = p.geometry;
  switch (computation) {
    case kForward:
      exec::ParallelFor(g.batch * g.output_channels, serial,
                        [&](int64_t row, int) { ForwardRow(p, b, row / g.output_channels, row % g.output_channels); });
      break;
    case kBackwardData:
      exec::ParallelFor(g.batch * g.input_channels, serial, [&](int64_t row, int) {
        BackwardDataRow(p, b, row / g.input_channels, row % g.input_channels);
      });
      break;
    case kBackwardWeights: {
      const int64_t cg = g.group_input_channels();
      exec::ParallelFor(g.output_channels * cg, serial,
                        [&](int64_t row, int) { BackwardWeightsRow(p, b, row / cg, row % cg); });
      break;
    }
    case kBiasFromOutput:
    case kBiasFromInput:
      exec::ParallelFor(computation == kBiasFromOutput ? g.output_channels : g.input_channels, serial,
                        [&](int64_t channel, int) { BiasElement(p, b, computation, channel); });
      break;
  }
}

}  // namespace canopy::conv::reference
