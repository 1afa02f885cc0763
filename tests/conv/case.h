// SPDX-License-Identifier: Apache-2.0
// Problems and their tensors, small enough for the formula that heads conv/problem.h.
#ifndef CANOPY_TESTS_CONV_CASE_H_
#define CANOPY_TESTS_CONV_CASE_H_

#include <array>
#include <cstdint>
#include <random>
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
Tensor MakeTensor(std::array<int64_t, 5> dims, DType dtype, const std::array<int, 5>& permutation, int64_t gap);

void FillRandom(Tensor* tensor, bool integers, std::mt19937* random);

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

struct Dims {
  std::array<int64_t, 5> input, weight, output;
};

// Of the whole tensors, batch first.
Dims DimsOf(const Geometry& g);

template <class F>
inline void ForEach(const std::array<int64_t, 5>& dims, const F& visit) {
  std::array<int64_t, 5> at{};
  for (at[0] = 0; at[0] < dims[0]; ++at[0])
    for (at[1] = 0; at[1] < dims[1]; ++at[1])
      for (at[2] = 0; at[2] < dims[2]; ++at[2])
        for (at[3] = 0; at[3] < dims[3]; ++at[3])
          for (at[4] = 0; at[4] < dims[4]; ++at[4]) visit(at);
}

}  // namespace canopy::conv

#endif  // CANOPY_TESTS_CONV_CASE_H_
