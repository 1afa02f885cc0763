// SPDX-License-Identifier: Apache-2.0
#include "tests/conv/random_case.h"

#include <algorithm>

namespace canopy::conv {
namespace {

// One channel a group, or few: with fewer groups than a vector has lanes, as many, and more.
void DrawDepthwise(Draw* draw, Geometry* g) {
  const int64_t groups[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 20, 33};
  g->groups = groups[(*draw)(0, 11)];
  const bool several = (*draw)(0, 2) == 0;
  g->input_channels = g->groups * (several ? (*draw)(1, 3) : 1);
  g->output_channels = g->groups * (several ? (*draw)(1, 3) : 1);
}

// What the fast algorithms serve, which random geometries hardly meet: one or more tiles an axis, with and without
// rests, padding up to whole tiles of it, a stride at times, and now and then more source channels than one tile
// product has terms.
void DrawFast(Draw* draw, Geometry* g) {
  const int64_t channels[] = {16, 17, 24, 31, 33, 48, 66};
  g->batch = (*draw)(1, 3);
  g->groups = (*draw)(0, 2) == 0 ? 2 : 1;
  g->input_channels = g->groups * ((*draw)(0, 9) == 0 ? 130 : channels[(*draw)(0, 6)]);
  g->output_channels = g->groups * ((*draw)(0, 9) == 0 ? 130 : channels[(*draw)(0, 6)]);
  const Extent3 kernels[] = {{1, 3, 3}, {1, 3, 3}, {2, 3, 3}, {3, 3, 3}, {4, 3, 3}, {1, 1, 3},
                             {1, 3, 1}, {3, 1, 1}, {3, 3, 1}, {3, 1, 3}, {2, 1, 3}};
  g->kernel = kernels[(*draw)(0, 10)];
  const bool plane = g->kernel[1] == 3 && g->kernel[2] == 3;
  g->output_size = {(*draw)(1, plane ? 3 : 6), (*draw)(1, plane ? 10 : 6), (*draw)(1, 14)};
  for (int a = 0; a < 3; ++a) {
    if (g->kernel[a] == 3 && (*draw)(0, 2) == 0) {
      g->stride[a] = (*draw)(1, 2);
      g->kernel[a] = (*draw)(g->stride[a] + 1, 2 * g->stride[a] + 2);
      g->output_size[a] = (g->output_size[a] + 1) / 2;
    }
    g->pad_begin[a] = (*draw)(0, 5) == 0 ? (*draw)(3, 7) : (*draw)(0, 2);
    const int64_t reach = (g->output_size[a] - 1) * g->stride[a] + g->kernel[a];
    g->input_size[a] = std::max<int64_t>(1, reach - g->pad_begin[a] - (*draw)(0, 2));
  }
}

// What the others serve. Returns whether planes lie without gaps, to be multiplied as they are.
bool DrawAny(Draw* draw, Geometry* g) {
  const int64_t channels[] = {1, 2, 3, 4, 5, 8, 11, 12, 13, 16, 17, 24, 33};
  g->batch = (*draw)(1, 3);
  g->groups = (*draw)(0, 3) == 0 ? (*draw)(2, 4) : 1;
  g->input_channels = g->groups * channels[(*draw)(0, 12)];
  g->output_channels = g->groups * channels[(*draw)(0, 12)];
  const bool depthwise = (*draw)(0, 2) == 0;
  if (depthwise) DrawDepthwise(draw, g);
  const bool pointwise = !depthwise && (*draw)(0, 3) == 0;
  const bool patches = pointwise && (*draw)(0, 1) == 0;  // that do not overlap
  const int64_t patch_strides[] = {1, 2, 2, 3, 4, 8, 16, 17};
  const bool strided = !pointwise || (*draw)(0, 2) == 0;
  const int axes = static_cast<int>((*draw)(1, 3));
  for (int a = 0; a < 3; ++a) {
    const bool used = a >= 3 - axes;
    g->kernel[a] = used && !pointwise ? (*draw)(1, axes == 3 ? 3 : depthwise ? 9 : 4) : 1;
    g->stride[a] = used && strided ? (*draw)(1, 3) : 1;
    g->dilation[a] = used && !patches ? (*draw)(1, depthwise ? 3 : 2) : 1;
    if (used && patches) {
      g->stride[a] = a == 2 ? patch_strides[(*draw)(0, 7)] : (*draw)(1, 3);
      g->kernel[a] = (*draw)(0, 1) == 0 ? g->stride[a] : (*draw)(1, g->stride[a]);
    }
    g->output_size[a] = used ? (*draw)(1, axes == 3 ? 4 : axes == 2 ? 9 : 40) : 1;
    g->pad_begin[a] = used && !pointwise ? (*draw)(0, 3) : 0;
    const int64_t reach = (g->output_size[a] - 1) * g->stride[a] + (g->kernel[a] - 1) * g->dilation[a] + 1;
    const int64_t pad_end = used && !pointwise ? (*draw)(0, 2) : 0;
    const int64_t unused = used ? (*draw)(0, g->stride[a] - 1) : 0;  // the floor's remainder
    g->input_size[a] = std::max<int64_t>(1, reach - g->pad_begin[a] - pad_end + unused);
  }
  return pointwise;
}

}  // namespace

Case PlainCase(const Geometry& g, uint32_t seed, DType type, Draw* draw, const std::array<int, 5>& order) {
  Case c;
  c.problem.geometry = g;
  const auto make = [&](std::array<int64_t, 5> dims, DType dtype) {
    Tensor tensor = MakeTensor(dims, dtype, order, (*draw)(0, 2) == 0 ? (*draw)(1, 3) : 0);
    FillRandom(&tensor, true, draw->engine());
    return tensor;
  };
  const auto [input, weight, output] = DimsOf(g);
  c.input = make(input, type);
  c.weight = make(weight, type);
  c.output = make(output, type);
  c.input_result = make(input, seed % 3 == 0 ? type : DType::kFloat32);
  c.weight_result = make(weight, DType::kFloat32);
  c.output_result = make(output, DType::kFloat32);
  c.bias_result = make({1, g.output_channels, 1, 1, 1}, DType::kFloat32);
  c.SetOperands();
  return c;
}

void LayWeights(const std::array<int, 5>& order, DType type, Draw* draw, Case* c) {
  c->weight = MakeTensor(c->weight.dims, type, order, (*draw)(0, 2));
  FillRandom(&c->weight, true, draw->engine());
  c->weight_result = MakeTensor(c->weight.dims, DType::kFloat32, order, (*draw)(0, 2));
  c->SetOperands();
}

Case RandomCase(uint32_t seed, bool integers, bool fast, Types types) {
  Draw draw(seed);
  Case c;
  Geometry& g = c.problem.geometry;
  bool pointwise = false;
  if (fast) {
    DrawFast(&draw, &g);
  } else {
    pointwise = DrawAny(&draw, &g);
  }
  const DType dtypes[] = {DType::kFloat32, DType::kFloat32, DType::kFloat16, DType::kBFloat16};
  const auto dtype = [&] { return types == Types::kBf16 ? DType::kBFloat16 : dtypes[draw(0, 3)]; };
  const std::array<int, 5> orders[] = {
      {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {0, 2, 3, 4, 1}, {4, 3, 2, 0, 1}, {1, 0, 4, 3, 2}};
  const auto make = [&](std::array<int64_t, 5> dims, DType dtype) {
    const int64_t order = draw(0, 4), gap = draw(0, 2) == 0 ? draw(1, 5) : 0;
    Tensor tensor = MakeTensor(dims, dtype, orders[pointwise ? 0 : order], pointwise ? 0 : gap);
    FillRandom(&tensor, integers, draw.engine());
    return tensor;
  };
  const auto [input, weight, output] = DimsOf(g);
  c.input = make(input, dtype());
  c.weight = make(weight, dtype());
  c.output = make(output, dtype());
  c.input_result = make(input, DType::kFloat32);
  c.weight_result = make(weight, DType::kFloat32);
  c.output_result = make(output, DType::kFloat32);
  c.bias = make({1, g.output_channels, 1, 1, 1}, DType::kFloat32);
  c.bias_result = make({1, g.output_channels, 1, 1, 1}, DType::kFloat32);
  c.problem.rule.input_rounding =
      draw(0, 2) == 0 ? numerics::InputRounding::kHfloat32x11 : numerics::InputRounding::kNone;
  if (types == Types::kBf16) c.problem.rule.input_rounding = numerics::InputRounding::kNone;
  if (types == Types::kRoundedToBf16) c.problem.rule.input_rounding = numerics::InputRounding::kBFloat16;
  c.SetOperands();
  return c;
}

}  // namespace canopy::conv
