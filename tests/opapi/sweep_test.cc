// SPDX-License-Identifier: Apache-2.0
// Random small problems on whole numbers, every tensor in a random layout, against the operators' formulas bit for bit.
#include <algorithm>
#include <numeric>
#include <random>

#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"
#include "tests/opapi/calls.h"
#include "tests/opapi/formulas.h"

namespace canopy::tests {
namespace {

using Floats = std::vector<float>;
using Shape = std::vector<int64_t>;

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}

  int64_t Roll(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  bool Coin() { return Roll(0, 1) == 1; }

  Floats Numbers(int64_t count) {
    Floats values(static_cast<size_t>(count));
    for (float& value : values) value = static_cast<float>(Roll(-4, 4));
    return values;
  }

  // Axes in any order in memory, some with a gap behind each element; perhaps an offset.
  TensorForm Layout(const Shape& shape, aclDataType dtype) {
    TensorForm form{.shape = shape, .dtype = dtype, .strides = Shape(shape.size()), .offset = Roll(0, 5)};
    std::vector<size_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    if (Coin()) std::shuffle(order.begin(), order.end(), engine_);
    int64_t step = Roll(1, 2);
    for (size_t i = order.size(); i-- > 0;) {
      form.strides[order[i]] = step;
      step = step * shape[order[i]] + (Coin() ? 0 : Roll(0, 3));
    }
    return form;
  }

 private:
  std::mt19937 engine_;
};

int64_t Product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<int64_t>());
}

// A case with its attributes and the shapes of its tensors.
struct Problem {
  ConvCase sums;
  ConvAttributes attributes;
  Shape input, weight, output;
};

void AddAxis(Dice* dice, int to, Problem* p) {
  ConvCase& c = p->sums;
  const int64_t k = c.kernel[to] = dice->Roll(1, 3), s = c.stride[to] = dice->Roll(1, 3);
  const int64_t d = c.dilation[to] = dice->Roll(1, 2), pad = c.pad[to] = dice->Roll(0, 2);
  const int64_t small = dice->Roll(1, 4);
  // The large side: what the windows cover, and what the floor leaves over.
  const int64_t over = dice->Roll(0, s - 1);
  const int64_t large = (small - 1) * s + d * (k - 1) + 1 - 2 * pad + over;
  (c.transposed ? c.input : c.output)[to] = small;
  (c.transposed ? c.output : c.input)[to] = large;
  p->attributes.stride.push_back(s);
  p->attributes.dilation.push_back(d);
  p->attributes.padding.push_back(pad);
  p->attributes.output_padding.push_back(c.transposed ? over : 0);
}

// False: an extent came out as nothing.
bool MakeProblem(Dice* dice, Problem* p) {
  const int rank = static_cast<int>(dice->Roll(1, 3));
  ConvCase& c = p->sums;
  p->attributes = Uniform(0);
  p->attributes.transposed = c.transposed = dice->Coin();
  p->attributes.groups = c.groups = dice->Coin() ? 1 : dice->Roll(1, 4);
  c.batch = dice->Roll(1, 3);
  c.in_channels = c.groups * dice->Roll(1, 3);
  c.out_channels = c.groups * dice->Roll(1, 3);
  for (int axis = 3 - rank; axis < 3; ++axis) AddAxis(dice, axis, p);
  p->input = {c.batch, c.in_channels};
  p->output = {c.batch, c.out_channels};
  p->weight =
      c.transposed ? Shape{c.in_channels, c.out_channels / c.groups} : Shape{c.out_channels, c.in_channels / c.groups};
  for (int axis = 3 - rank; axis < 3; ++axis) {
    p->input.push_back(c.input[axis]);
    p->output.push_back(c.output[axis]);
    p->weight.push_back(c.kernel[axis]);
    if (c.input[axis] < 1 || c.output[axis] < 1) return false;
  }
  if (rank == 2 && dice->Coin()) {
    const Shape pads = p->attributes.padding;
    p->attributes.padding = {pads[0], pads[0], pads[1], pads[1]};
  }
  return true;
}

class SweepTest : public DeviceTest {};

TEST_F(SweepTest, GradientsAreTheFormulas) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    Problem p;
    if (!MakeProblem(&dice, &p)) continue;
    for (bool& wanted : p.attributes.mask) wanted = dice.Coin();
    const Floats x = dice.Numbers(Product(p.input)), w = dice.Numbers(Product(p.weight)),
                 dy = dice.Numbers(Product(p.output));
    const DeviceTensor xt(dice.Layout(p.input, ACL_FLOAT), x), wt(dice.Layout(p.weight, ACL_FLOAT16), w);
    const DeviceTensor dyt(dice.Layout(p.output, ACL_BF16), dy), dxt(dice.Layout(p.input, ACL_FLOAT), -77);
    const DeviceTensor dwt(dice.Layout(p.weight, ACL_FLOAT), -77), dbt(dice.Layout({p.output[1]}, ACL_FLOAT), -77);
    TwoPhases call = ConvolutionBackward(dyt, xt, wt, p.attributes, {&dxt, &dwt, &dbt});
    ASSERT_EQ(call.first, 0) << RecentMessage();
    ASSERT_EQ(call.Run(&aclnnConvolutionBackward, stream), 0) << RecentMessage();
    const ConvSums sums = Sums(p.sums, x, w, dy);
    const auto expected = [&](int i, const Floats& values) {
      return p.attributes.mask[i] ? values : Floats(values.size(), -77);
    };
    ASSERT_EQ(dxt.Values(), expected(0, sums.grad_input));
    ASSERT_EQ(dwt.Values(), expected(1, sums.grad_weight));
    ASSERT_EQ(dbt.Values(), expected(2, sums.grad_bias));
    for (const DeviceTensor* tensor : {&dxt, &dwt, &dbt, &xt, &wt, &dyt}) ASSERT_TRUE(tensor->SurroundingsUntouched());
  }
}

TEST_F(SweepTest, OutputsAreTheFormulas) {
  for (unsigned seed = 1000; seed < 1200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    Problem p;
    if (!MakeProblem(&dice, &p)) continue;
    const Floats x = dice.Numbers(Product(p.input)), w = dice.Numbers(Product(p.weight)), b = dice.Numbers(p.output[1]);
    const DeviceTensor xt(dice.Layout(p.input, ACL_FLOAT), x), wt(dice.Layout(p.weight, ACL_FLOAT), w);
    const DeviceTensor bt(dice.Layout({p.output[1]}, ACL_BF16), b), yt(dice.Layout(p.output, ACL_FLOAT), -77);
    const bool biased = dice.Coin();
    TwoPhases call = Convolution(xt, wt, biased ? &bt : nullptr, p.attributes, yt);
    ASSERT_EQ(call.first, 0) << RecentMessage();
    ASSERT_EQ(call.Run(&aclnnConvolution, stream), 0) << RecentMessage();
    Floats expected = Sums(p.sums, x, w, Floats(static_cast<size_t>(Product(p.output)), 0)).output;
    const int64_t volume = Volume(p.sums.output);
    for (size_t i = 0; biased && i < expected.size(); ++i) expected[i] += b[i / volume % p.output[1]];
    ASSERT_EQ(yt.Values(), expected);
    ASSERT_TRUE(yt.SurroundingsUntouched());
  }
}

// (N, C, T) to (T, N, C), or of weights (Cout, Cin, K) to (K, Cin, Cout).
Floats Permuted(const Floats& values, const Shape& shape, const std::array<int, 3>& order) {
  Floats result;
  std::array<int64_t, 3> at{};
  for (at[order[0]] = 0; at[order[0]] < shape[order[0]]; ++at[order[0]]) {
    for (at[order[1]] = 0; at[order[1]] < shape[order[1]]; ++at[order[1]]) {
      for (at[order[2]] = 0; at[order[2]] < shape[order[2]]; ++at[order[2]]) {
        result.push_back(values[static_cast<size_t>((at[0] * shape[1] + at[1]) * shape[2] + at[2])]);
      }
    }
  }
  return result;
}

TEST_F(SweepTest, TbcIsThe1dConvolutionOfPermutedTensors) {
  for (unsigned seed = 2000; seed < 2120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    ConvCase c{.batch = dice.Roll(1, 3), .in_channels = dice.Roll(1, 4), .out_channels = dice.Roll(1, 4)};
    const int64_t k = c.kernel[2] = dice.Roll(1, 4), pad = c.pad[2] = dice.Roll(0, 4);
    const int64_t t = c.input[2] = dice.Roll(1, 6), rows = c.output[2] = t + 2 * pad + 1 - k;
    if (rows < 1) continue;
    const Floats x = dice.Numbers(c.batch * c.in_channels * t), w = dice.Numbers(c.out_channels * c.in_channels * k);
    const Floats dy = dice.Numbers(c.batch * c.out_channels * rows), b = dice.Numbers(c.out_channels);
    ConvSums sums = Sums(c, x, w, dy);
    for (size_t i = 0; i < sums.output.size(); ++i) sums.output[i] += b[i / rows % c.out_channels];
    const Shape xs{c.batch, c.in_channels, t}, ws{c.out_channels, c.in_channels, k}, ys{c.batch, c.out_channels, rows};
    const std::array<int, 3> tbc{2, 0, 1}, kio{2, 1, 0};
    const Shape xt_shape{t, c.batch, c.in_channels}, wt_shape{k, c.in_channels, c.out_channels},
        yt_shape{rows, c.batch, c.out_channels};
    const DeviceTensor xt(dice.Layout(xt_shape, ACL_FLOAT), Permuted(x, xs, tbc)),
        wt(dice.Layout(wt_shape, ACL_FLOAT), Permuted(w, ws, kio));
    const DeviceTensor dyt(dice.Layout(yt_shape, ACL_FLOAT), Permuted(dy, ys, tbc)), bt({.shape = {c.out_channels}}, b);
    const DeviceTensor dxt(dice.Layout(xt_shape, ACL_FLOAT), -77), dwt(dice.Layout(wt_shape, ACL_FLOAT), -77),
        dbt({.shape = {c.out_channels}}, -77);
    const DeviceTensor yt(dice.Layout(yt_shape, ACL_FLOAT), -77);
    TwoPhases backward = ConvTbcBackward(dyt, xt, wt, bt, pad, 0, {&dxt, &dwt, &dbt});
    ASSERT_EQ(backward.first, 0) << RecentMessage();
    ASSERT_EQ(backward.Run(&aclnnConvTbcBackward, stream), 0) << RecentMessage();
    ASSERT_EQ(dxt.Values(), Permuted(sums.grad_input, xs, tbc));
    ASSERT_EQ(dwt.Values(), Permuted(sums.grad_weight, ws, kio));
    ASSERT_EQ(dbt.Values(), sums.grad_bias);
    TwoPhases forward = ConvTbc(xt, wt, bt, pad, 0, yt);
    ASSERT_EQ(forward.first, 0) << RecentMessage();
    ASSERT_EQ(forward.Run(&aclnnConvTbc, stream), 0) << RecentMessage();
    ASSERT_EQ(yt.Values(), Permuted(sums.output, ys, tbc));
  }
}

}  // namespace
}  // namespace canopy::tests
