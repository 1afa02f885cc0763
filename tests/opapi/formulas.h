// SPDX-License-Identifier: Apache-2.0
// The operators' sums, term by term and in the operators' own words: what lowering to the engine's problem must not
// change. Tensors are dense, with three spatial axes.
#ifndef CANOPY_TESTS_OPAPI_FORMULAS_H_
#define CANOPY_TESTS_OPAPI_FORMULAS_H_

#include <array>
#include <cstdint>
#include <vector>

namespace canopy::tests {

using Extents = std::array<int64_t, 3>;

// What the caller of a convolution says. Input (batch, in_channels, input...), output (batch, out_channels, output...).
struct ConvCase {
  int64_t batch = 1, groups = 1, in_channels = 1, out_channels = 1;
  bool transposed = false;
  Extents input{1, 1, 1}, output{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{};
};

// Calls term(n, ci, i, co, o, weight index) for every term of the forward sum: output[n, co, o] has the term
// input[n, ci, i] * weight[...]. Positions are flattened.
template <class Term>
void ForEachTerm(const ConvCase& c, const Term& term) {
  const Extents& small = c.transposed ? c.input : c.output;  // windows are placed on the other one
  const Extents& large = c.transposed ? c.output : c.input;
  const int64_t volume = small[0] * small[1] * small[2], taps = c.kernel[0] * c.kernel[1] * c.kernel[2];
  const int64_t ig = c.in_channels / c.groups, og = c.out_channels / c.groups;
  for (int64_t place = 0; place < volume; ++place) {
    const Extents at{place / (small[1] * small[2]), place / small[2] % small[1], place % small[2]};
    for (int64_t tap = 0; tap < taps; ++tap) {
      const Extents kk{tap / (c.kernel[1] * c.kernel[2]), tap / c.kernel[2] % c.kernel[1], tap % c.kernel[2]};
      int64_t other = 0;
      bool inside = true;
      for (int axis = 0; axis < 3; ++axis) {
        const int64_t t = at[axis] * c.stride[axis] - c.pad[axis] + kk[axis] * c.dilation[axis];
        inside &= t >= 0 && t < large[axis];
        other = other * large[axis] + t;
      }
      if (!inside) continue;
      for (int64_t n = 0; n < c.batch; ++n) {
        for (int64_t co = 0; co < c.out_channels; ++co) {
          for (int64_t r = 0; r < ig; ++r) {
            const int64_t ci = co / og * ig + r;
            const int64_t weight = c.transposed ? (ci * og + co % og) * taps + tap : (co * ig + r) * taps + tap;
            term(n, ci, c.transposed ? place : other, co, c.transposed ? other : place, weight);
          }
        }
      }
    }
  }
}

inline int64_t Volume(const Extents& e) { return e[0] * e[1] * e[2]; }

struct ConvSums {
  std::vector<float> grad_input, grad_weight, grad_bias, output;
};

// Both directions of one convolution.
inline ConvSums Sums(const ConvCase& c, const std::vector<float>& input, const std::vector<float>& weight,
                     const std::vector<float>& grad_output) {
  ConvSums sums;
  const int64_t iv = Volume(c.input), ov = Volume(c.output);
  sums.grad_input.assign(input.size(), 0);
  sums.grad_weight.assign(weight.size(), 0);
  sums.grad_bias.assign(static_cast<size_t>(c.out_channels), 0);
  sums.output.assign(grad_output.size(), 0);
  ForEachTerm(c, [&](int64_t n, int64_t ci, int64_t i, int64_t co, int64_t o, int64_t w) {
    const size_t x = static_cast<size_t>((n * c.in_channels + ci) * iv + i);
    const size_t y = static_cast<size_t>((n * c.out_channels + co) * ov + o);
    sums.output[y] += input[x] * weight[w];
    sums.grad_input[x] += grad_output[y] * weight[w];
    sums.grad_weight[w] += grad_output[y] * input[x];
  });
  for (size_t y = 0; y < grad_output.size(); ++y) sums.grad_bias[y / ov % c.out_channels] += grad_output[y];
  return sums;
}

}  // namespace canopy::tests

#endif  // CANOPY_TESTS_OPAPI_FORMULAS_H_
