// SPDX-License-Identifier: Apache-2.0
// Tensors element by element, by their five indices, and the positions that the definition pairs. Slow and plain: for
// the reference and for what is rare or small.
#ifndef CANOPY_CONV_ELEMENTS_H_
#define CANOPY_CONV_ELEMENTS_H_

#include "conv/problem.h"
#include "numerics/rounding.h"

namespace canopy::conv {

inline int64_t Volume(const Extent3& e) { return e[0] * e[1] * e[2]; }

inline Extent3 Unflatten(int64_t index, const Extent3& size) {
  return {index / (size[1] * size[2]), index / size[2] % size[1], index % size[2]};
}

inline int64_t ElementOffset(const Operand& operand, int64_t a, int64_t b, const Extent3& at) {
  const auto& s = operand.strides;
  return (a * s[0] + b * s[1] + at[0] * s[2] + at[1] * s[3] + at[2] * s[4]) * numerics::ElementBytes(operand.dtype);
}

// One element of the bias gradient, rounded once.
inline void StoreBias(const ConvProblem& problem, const Buffers& buffers, int64_t channel, float sum) {
  const Operand& result = problem.bias_result;
  char* to = static_cast<char*>(buffers.bias_result) + ElementOffset(result, 0, channel, {0, 0, 0});
  numerics::StoreElement(to, result.dtype, sum, problem.rule.saturate);
}

// One element of the bias, as it is. REQUIRES: the problem has one.
inline float LoadBias(const ConvProblem& problem, const Buffers& buffers, int64_t channel) {
  const Operand& bias = problem.bias;
  const char* from = static_cast<const char*>(buffers.bias) + ElementOffset(bias, 0, channel, {0, 0, 0});
  return numerics::LoadElement(from, bias.dtype);
}

// Reads multiplicands, rounded as the rule says.
class ElementReader {
 public:
  ElementReader(const void* base, const Operand& operand, const numerics::NumericRule& rule)
      : base_(static_cast<const char*>(base)), operand_(operand), rule_(rule) {}

  float operator()(int64_t a, int64_t b, const Extent3& at) const {
    const float value = numerics::LoadElement(base_ + ElementOffset(operand_, a, b, at), operand_.dtype);
    return numerics::RoundInput(value, rule_.input_rounding, rule_.saturate);
  }

 private:
  const char* base_;
  const Operand& operand_;
  numerics::NumericRule rule_;
};

// The input position that output position `out` meets under kernel offset `tap`; false: it lies in the padding.
inline bool InputAt(const Geometry& g, const Extent3& out, const Extent3& tap, Extent3* in) {
  for (int a = 0; a < 3; ++a) {
    (*in)[a] = out[a] * g.stride[a] - g.pad_begin[a] + tap[a] * g.dilation[a];
    if ((*in)[a] < 0 || (*in)[a] >= g.input_size[a]) return false;
  }
  return true;
}

// The output position that input position `in` reaches under kernel offset `tap`; false: none.
inline bool OutputAt(const Geometry& g, const Extent3& in, const Extent3& tap, Extent3* out) {
  for (int a = 0; a < 3; ++a) {
    const int64_t t = in[a] + g.pad_begin[a] - tap[a] * g.dilation[a];
    if (t < 0 || t % g.stride[a] != 0 || t / g.stride[a] >= g.output_size[a]) return false;
    (*out)[a] = t / g.stride[a];
  }
  return true;
}

}  // namespace canopy::conv

#endif  // CANOPY_CONV_ELEMENTS_H_
