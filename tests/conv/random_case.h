// SPDX-License-Identifier: Apache-2.0
// Random problems small enough for the formula that heads conv/problem.h, and the formula itself in double.
#ifndef CANOPY_TESTS_CONV_RANDOM_CASE_H_
#define CANOPY_TESTS_CONV_RANDOM_CASE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "conv/conv.h"
#include "numerics/rounding.h"

namespace canopy::conv {

using numerics::DType;

struct Tensor {
  std::array<int64_t, 5> dims{};
  Operand operand;
  std::vector<char> bytes;

  int64_t count() const { return dims[0] * dims[1] * dims[2] * dims[3] * dims[4]; }
  int64_t Offset(const std::array<int64_t, 5>& at) const {
    int64_t offset = 0;
    for (int i = 0; i < 5; ++i) offset += at[i] * operand.strides[i];
    return offset * numerics::ElementBytes(operand.dtype);
  }
  void Set(const std::array<int64_t, 5>& at, float value) {
    numerics::StoreElement(bytes.data() + Offset(at), operand.dtype, value, true);
  }
  double Get(const std::array<int64_t, 5>& at) const {
    return numerics::LoadElement(bytes.data() + Offset(at), operand.dtype);
  }
};

// Dense in the order of `permutation` (outermost first), with `gap` unused elements behind every innermost row.
inline Tensor MakeTensor(std::array<int64_t, 5> dims, DType dtype, const std::array<int, 5>& permutation, int64_t gap) {
  Tensor tensor;
  tensor.dims = dims;
  tensor.operand.dtype = dtype;
  int64_t stride = 1;
  for (int i = 4; i >= 0; --i) {
    tensor.operand.strides[permutation[i]] = stride;
    stride *= dims[permutation[i]];
    if (i == 4) stride += gap;
  }
  tensor.bytes.assign(static_cast<size_t>((stride + gap) * numerics::ElementBytes(dtype)), char{0x55});
  return tensor;
}

inline void FillRandom(Tensor* tensor, bool integers, std::mt19937* random) {
  std::uniform_real_distribution<float> real(-1, 1);
  std::uniform_int_distribution<int> whole(-4, 4);
  const int64_t bytes = numerics::ElementBytes(tensor->operand.dtype);
  for (size_t at = 0; at + bytes <= tensor->bytes.size(); at += bytes) {
    const float value = integers ? static_cast<float>(whole(*random)) : real(*random);
    numerics::StoreElement(tensor->bytes.data() + at, tensor->operand.dtype, value, false);
  }
}

struct Case {
  ConvProblem problem;
  Tensor input, weight, output, bias, input_result, weight_result, output_result, bias_result;

  // Tells the problem of the tensors.
  void SetOperands() {
    problem.input = input.operand;
    problem.weight = weight.operand;
    problem.output = output.operand;
    problem.bias = bias.operand;
    problem.input_result = input_result.operand;
    problem.weight_result = weight_result.operand;
    problem.output_result = output_result.operand;
    problem.bias_result = bias_result.operand;
  }

  Buffers buffers() {
    return {input.bytes.data(),         weight.bytes.data(),       output.bytes.data(),
            bias.bytes.data(),          input_result.bytes.data(), weight_result.bytes.data(),
            output_result.bytes.data(), bias_result.bytes.data()};
  }
};

template <class F>
inline void ForEach(const std::array<int64_t, 5>& dims, const F& visit) {
  std::array<int64_t, 5> at{};
  for (at[0] = 0; at[0] < dims[0]; ++at[0])
    for (at[1] = 0; at[1] < dims[1]; ++at[1])
      for (at[2] = 0; at[2] < dims[2]; ++at[2])
        for (at[3] = 0; at[3] < dims[3]; ++at[3])
          for (at[4] = 0; at[4] < dims[4]; ++at[4]) visit(at);
}

struct Sums {
  std::vector<double> input, weight, output, bias;
};

// Visits every (n, co, o, c, kk) of the formula whose input position exists.
inline Sums Expected(const Case& c) {
  const Geometry& g = c.problem.geometry;
  Sums sums;
  sums.input.assign(c.input.count(), 0);
  sums.weight.assign(c.weight.count(), 0);
  sums.output.assign(c.output.count(), 0);
  const auto flat = [](const std::array<int64_t, 5>& at, const std::array<int64_t, 5>& dims) {
    int64_t index = 0;
    for (int i = 0; i < 5; ++i) index = index * dims[i] + at[i];
    return index;
  };
  // Once for all terms: sanitizers make every access dear.
  const auto read = [&](const Tensor& tensor) {
    std::vector<double> numbers;
    ForEach(tensor.dims, [&](const std::array<int64_t, 5>& at) {
      const auto value = static_cast<float>(tensor.Get(at));
      numbers.push_back(numerics::RoundInput(value, c.problem.rule.input_rounding, false));
    });
    return numbers;
  };
  const std::vector<double> inputs = read(c.input), weights = read(c.weight), outputs = read(c.output);
  const auto position = [&](int axis, int64_t output, int64_t tap) {
    return output * g.stride[axis] - g.pad_begin[axis] + tap * g.dilation[axis];
  };
  const int64_t channels = g.group_input_channels(), columns = g.kernel[2], width = g.input_size[2];
  ForEach(c.output.dims, [&](const std::array<int64_t, 5>& out) {
    const int64_t o = flat(out, c.output.dims), first = position(2, out[4], 0), dilation = g.dilation[2];
    const int64_t first_channel = out[1] / g.group_output_channels() * channels;
    ForEach({1, channels, g.kernel[0], g.kernel[1], 1}, [&](std::array<int64_t, 5> w) {  // a kernel's row
      w[0] = out[1];
      const int64_t depth = position(0, out[2], w[2]), row = position(1, out[3], w[3]);
      if (depth < 0 || depth >= g.input_size[0] || row < 0 || row >= g.input_size[1]) return;
      const int64_t i = flat({out[0], first_channel + w[1], depth, row, 0}, c.input.dims);
      const int64_t j = flat(w, c.weight.dims);
      for (int64_t k = 0; k < columns; ++k) {
        const int64_t column = first + k * dilation;
        if (column < 0 || column >= width) continue;
        sums.output[o] += inputs[i + column] * weights[j + k];
        sums.input[i + column] += outputs[o] * weights[j + k];
        sums.weight[j + k] += outputs[o] * inputs[i + column];
      }
    });
  });
  return sums;
}

inline void ExpectNear(const char* what, const Tensor& actual, const std::vector<double>& expected, double tolerance,
                       const std::string& trace) {
  double error = 0, norm = 0;
  size_t i = 0;
  ForEach(actual.dims, [&](const std::array<int64_t, 5>& at) {
    const double difference = actual.Get(at) - expected[i];
    error += difference * difference;
    norm += expected[i] * expected[i];
    ++i;
  });
  EXPECT_LE(std::sqrt(error), tolerance * std::sqrt(norm) + 1e-30) << what << ": " << trace;
}

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int64_t operator()(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  std::mt19937* engine() { return &random_; }

 private:
  std::mt19937 random_;
};

// One channel a group, or few: with fewer groups than a vector has lanes, as many, and more.
inline void DrawDepthwise(Draw* draw, Geometry* g) {
  const int64_t groups[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 20, 33};
  g->groups = groups[(*draw)(0, 11)];
  const bool several = (*draw)(0, 2) == 0;
  g->input_channels = g->groups * (several ? (*draw)(1, 3) : 1);
  g->output_channels = g->groups * (several ? (*draw)(1, 3) : 1);
}

// What the fast algorithms serve, which random geometries hardly meet: one or more tiles an axis, with and without
// rests, padding up to whole tiles of it, a stride at times, and now and then more source channels than one tile
// product has terms.
inline void DrawFast(Draw* draw, Geometry* g) {
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
inline bool DrawAny(Draw* draw, Geometry* g) {
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

struct Dims {
  std::array<int64_t, 5> input, weight, output;
};

inline Dims DimsOf(const Geometry& g) {
  return {{g.batch, g.input_channels, g.input_size[0], g.input_size[1], g.input_size[2]},
          {g.output_channels, g.group_input_channels(), g.kernel[0], g.kernel[1], g.kernel[2]},
          {g.batch, g.output_channels, g.output_size[0], g.output_size[1], g.output_size[2]}};
}

// Whole numbers in tensors of the usual order, or another, whose rows now and then have gaps between them; some
// gradients of the input have the inputs' type, other results are FLOAT.
inline Case PlainCase(const Geometry& g, uint32_t seed, DType type, Draw* draw,
                      const std::array<int, 5>& order = {0, 1, 2, 3, 4}) {
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

enum class Types { kAny, kBf16, kRoundedToBf16 };

// Small enough for the formula, with every extent around the tiles' and vectors' sizes at some time.
inline Case RandomCase(uint32_t seed, bool integers, bool fast, Types types = Types::kAny) {
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

#endif  // CANOPY_TESTS_CONV_RANDOM_CASE_H_
