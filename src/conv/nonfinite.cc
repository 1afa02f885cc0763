// SPDX-License-Identifier: Apache-2.0
#include "conv/nonfinite.h"

#include <cmath>

#include "conv/elements.h"
#include "conv/reference/run.h"
#include "exec/pool.h"

namespace canopy::conv {
namespace {

// Adds `term` to an element; true when that made it NaN, which nothing changes any more.
bool AddTerm(void* base, const Operand& operand, int64_t offset, float term) {
  char* address = static_cast<char*>(base) + offset;
  const float before = numerics::LoadElement(address, operand.dtype);
  if (std::isnan(before)) return false;
  const float sum = before + term;
  numerics::StoreElement(address, operand.dtype, sum, false);
  return std::isnan(sum);
}

// One (image, channel) row of an activation result.
class ActivationRow {
 public:
  ActivationRow(const ConvProblem& problem, Computation computation, const Buffers& buffers)
      : p_(problem),
        forward_(computation == kForward),
        source_(forward_ ? buffers.input : buffers.output, forward_ ? problem.input : problem.output, problem.rule),
        weight_(buffers.weight, problem.weight, problem.rule),
        result_(forward_ ? problem.output_result : problem.input_result),
        base_(forward_ ? buffers.output_result : buffers.input_result) {}

  void Add(int64_t n, int64_t channel) const {
    const Geometry& g = p_.geometry;
    const int64_t cg = g.group_input_channels(), og = g.group_output_channels();
    const int64_t group = channel / (forward_ ? og : cg), sources = forward_ ? cg : og;
    const Extent3& size = forward_ ? g.output_size : g.input_size;
    int64_t numbers = Volume(size);  // elements of the row that are not known to be NaN
    for (int64_t source = 0; source < sources && numbers > 0; ++source) {
      for (int64_t t = 0; t < g.taps() && numbers > 0; ++t) {
        const Extent3 tap = Unflatten(t, g.kernel);
        const float weight = forward_ ? weight_(channel, source, tap) : weight_(group * og + source, channel % cg, tap);
        if (!std::isfinite(weight)) numbers -= AddWeight(n, channel, group * sources + source, tap, weight);
      }
    }
  }

 private:
  // Returns how many elements became NaN.
  int64_t AddWeight(int64_t n, int64_t channel, int64_t source, const Extent3& tap, float weight) const {
    const Geometry& g = p_.geometry;
    const Extent3& size = forward_ ? g.output_size : g.input_size;
    int64_t became = 0;
    for (int64_t i = 0; i < Volume(size); ++i) {
      const Extent3 at = Unflatten(i, size);
      Extent3 from;
      if (!(forward_ ? InputAt(g, at, tap, &from) : OutputAt(g, at, tap, &from))) continue;
      became += AddTerm(base_, result_, ElementOffset(result_, n, channel, at), source_(n, source, from) * weight);
    }
    return became;
  }

  const ConvProblem& p_;
  bool forward_;
  ElementReader source_, weight_;
  const Operand& result_;
  void* base_;
};

// The terms of a weight gradient, found from the element that is not finite.
class WeightGradient {
 public:
  WeightGradient(const ConvProblem& problem, const Buffers& buffers)
      : p_(problem),
        input_(buffers.input, problem.input, problem.rule),
        output_(buffers.output, problem.output, problem.rule),
        base_(buffers.weight_result) {}

  // Those of one output channel's elements.
  void AddOutputChannel(int64_t co) const {
    const Geometry& g = p_.geometry;
    const int64_t cg = g.group_input_channels(), first = co / g.group_output_channels() * cg;
    int64_t numbers = cg * g.taps();  // elements of the gradient that are not known to be NaN
    for (int64_t n = 0; n < g.batch; ++n) {
      for (int64_t o = 0; o < Volume(g.output_size) && numbers > 0; ++o) {
        const Extent3 out = Unflatten(o, g.output_size);
        const float gradient = output_(n, co, out);
        if (std::isfinite(gradient)) continue;
        for (int64_t t = 0; t < g.taps(); ++t) {
          const Extent3 tap = Unflatten(t, g.kernel);
          Extent3 in;
          if (!InputAt(g, out, tap, &in)) continue;
          for (int64_t c = 0; c < cg; ++c) numbers -= Add(co, c, tap, gradient * input_(n, first + c, in));
        }
      }
    }
  }

  // Those of one input channel's elements; where the output is not finite either, AddOutputChannel has the term.
  void AddInputChannel(int64_t ci) const {
    const Geometry& g = p_.geometry;
    const int64_t cg = g.group_input_channels(), og = g.group_output_channels(), first = ci / cg * og;
    int64_t numbers = og * g.taps();
    for (int64_t n = 0; n < g.batch; ++n) {
      for (int64_t i = 0; i < Volume(g.input_size) && numbers > 0; ++i) {
        const Extent3 in = Unflatten(i, g.input_size);
        const float value = input_(n, ci, in);
        if (std::isfinite(value)) continue;
        for (int64_t t = 0; t < g.taps(); ++t) {
          const Extent3 tap = Unflatten(t, g.kernel);
          Extent3 out;
          if (!OutputAt(g, in, tap, &out)) continue;
          for (int64_t co = first; co < first + og; ++co) {
            const float gradient = output_(n, co, out);
            if (std::isfinite(gradient)) numbers -= Add(co, ci % cg, tap, gradient * value);
          }
        }
      }
    }
  }

 private:
  // 1 when the element became NaN.
  int64_t Add(int64_t co, int64_t c, const Extent3& tap, float term) const {
    return AddTerm(base_, p_.weight_result, ElementOffset(p_.weight_result, co, c, tap), term) ? 1 : 0;
  }

  const ConvProblem& p_;
  ElementReader input_, output_;
  void* base_;
};

}  // namespace

void AddNonfiniteWeightTerms(const ConvProblem& problem, Computation computation, const Buffers& buffers, bool serial) {
  // Saturated results keep no Inf to add to, so these come whole from the reference; below likewise.
  if (problem.rule.saturate) return reference::RunReference(problem, computation, buffers, serial);
  const Geometry& g = problem.geometry;
  const int64_t channels = computation == kForward ? g.output_channels : g.input_channels;
  const ActivationRow row(problem, computation, buffers);
  exec::ParallelFor(g.batch * channels, serial,
                    [&](int64_t index, int) { row.Add(index / channels, index % channels); });
}

void AddNonfiniteActivationTerms(const ConvProblem& problem, const Buffers& buffers, bool serial) {
  if (problem.rule.saturate) return reference::RunReference(problem, kBackwardWeights, buffers, serial);
  const WeightGradient gradient(problem, buffers);
  exec::ParallelFor(problem.geometry.output_channels, serial, [&](int64_t co, int) { gradient.AddOutputChannel(co); });
  exec::ParallelFor(problem.geometry.input_channels, serial, [&](int64_t ci, int) { gradient.AddInputChannel(ci); });
}

}  // namespace canopy::conv
