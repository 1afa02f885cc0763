// SPDX-License-Identifier: Apache-2.0
#include "conv/turned/turn.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "conv/elements.h"
#include "conv/packing/planes.h"

namespace canopy::conv::turned {
namespace {

// Elements from pixel to pixel through all images, for both operands; none where these are not the same all along, in
// one order.
struct PixelStrides {
  int64_t input = 1, output = 1;
};
std::optional<PixelStrides> Flatten(const Geometry& g, const Operand& input, const Operand& output) {
  constexpr std::array<int, 4> kPixelAxes = {0, 2, 3, 4};
  const std::array<int64_t, 5> sizes = {g.batch, 0, g.input_size[0], g.input_size[1], g.input_size[2]};
  std::vector<int> axes;
  for (const int axis : kPixelAxes) {
    if (sizes[axis] > 1) axes.push_back(axis);
  }
  std::sort(axes.begin(), axes.end(),
            [&](int a, int b) { return std::abs(input.strides[a]) < std::abs(input.strides[b]); });
  for (size_t i = 1; i < axes.size(); ++i) {
    const int inner = axes[i - 1], outer = axes[i];
    if (input.strides[outer] != input.strides[inner] * sizes[inner]) return std::nullopt;
    if (output.strides[outer] != output.strides[inner] * sizes[inner]) return std::nullopt;
  }
  if (axes.empty()) return PixelStrides{};
  return PixelStrides{input.strides[axes[0]], output.strides[axes[0]]};
}

// Of a kernel over the whole input: its offsets, and the pixels that they meet, as channels of one pixel; none where
// they do not lie side by side.
std::optional<ConvProblem> OfOnePixel(ConvProblem problem, const Operand& input, const Operand& weight) {
  Geometry& g = problem.geometry;
  const int64_t taps = g.taps();
  if (!packing::PlanesRun(input, g.kernel) || !packing::PlanesRun(weight, g.kernel)) return std::nullopt;
  if (g.input_channels > 1 && (input.strides[1] != taps || weight.strides[1] != taps)) return std::nullopt;
  g.input_channels *= taps;
  g.input_size = g.kernel = g.stride = {1, 1, 1};
  for (Operand* operand : {&problem.input, &problem.input_result, &problem.weight, &problem.weight_result}) {
    operand->strides[1] = 1;
  }
  return problem;
}

Operand Plane(numerics::DType dtype, int64_t channel) { return {dtype, {0, channel, 0, 0, 1}}; }

}  // namespace

bool IsProduct(const Geometry& g) {
  if (g.pad_begin != Extent3{}) return false;
  if (g.taps() == 1 && !packing::HasStride(g)) return true;
  return g.kernel == g.input_size && g.output_size == Extent3{1, 1, 1} && g.dilation == Extent3{1, 1, 1};
}

std::optional<Turn> MakeTurn(const ConvProblem& problem, Computation computation) {
  const Geometry& g = problem.geometry;
  const bool data = computation == kBackwardData, weights = computation == kBackwardWeights;
  const Operand& input = data ? problem.input_result : problem.input;
  const Operand& weight = weights ? problem.weight_result : problem.weight;
  const Operand& output = computation == kForward ? problem.output_result : problem.output;
  if (g.taps() > 1) {
    const std::optional<ConvProblem> folded = OfOnePixel(problem, input, weight);
    return folded ? MakeTurn(*folded, computation) : std::nullopt;
  }
  const std::optional<PixelStrides> pixels = Flatten(g, input, output);
  if (!pixels) return std::nullopt;
  const bool by_outputs = weight.strides[0] == 1 && output.strides[1] == 1;
  if (!by_outputs && (weight.strides[1] != 1 || input.strides[1] != 1)) return std::nullopt;

  Turn turn;
  turn.by_outputs = by_outputs;
  turn.computation = weights ? kBackwardData : data == by_outputs ? kBackwardWeights : kForward;

  ConvProblem& to = turn.problem;
  to.rule = problem.rule;
  to.computations = turn.computation;
  to.geometry.batch = 1;
  to.geometry.input_channels = by_outputs ? g.input_channels : g.output_channels;
  to.geometry.output_channels = g.batch * Volume(g.input_size);
  to.geometry.input_size = {1, 1, by_outputs ? g.output_channels : g.input_channels};
  to.geometry.output_size = to.geometry.input_size;
  to.input = to.input_result = Plane(weight.dtype, by_outputs ? weight.strides[1] : weight.strides[0]);
  to.output = to.output_result = by_outputs ? Plane(output.dtype, pixels->output) : Plane(input.dtype, pixels->input);
  to.weight = to.weight_result = by_outputs ? Operand{input.dtype, {pixels->input, input.strides[1], 1, 1, 1}}
                                            : Operand{output.dtype, {pixels->output, output.strides[1], 1, 1, 1}};
  return turn;
}

Buffers Turn::Of(const Buffers& b) const {
  Buffers turned;
  turned.input = b.weight;
  turned.weight = by_outputs ? b.input : b.output;
  turned.output = by_outputs ? b.output : b.input;
  turned.input_result = b.weight_result;
  turned.weight_result = by_outputs ? b.input_result : b.output_result;
  turned.output_result = by_outputs ? b.output_result : b.input_result;
  return turned;
}

}  // namespace canopy::conv::turned
