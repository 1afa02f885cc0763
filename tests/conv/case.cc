// SPDX-License-Identifier: Apache-2.0
#include "tests/conv/case.h"

namespace canopy::conv {

Tensor MakeTensor(std::array<int64_t, 5> dims, DType dtype, const std::array<int, 5>& permutation, int64_t gap) {
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

void FillRandom(Tensor* tensor, bool integers, std::mt19937* random) {
  std::uniform_real_distribution<float> real(-1, 1);
  std::uniform_int_distribution<int> whole(-4, 4);
  const int64_t bytes = numerics::ElementBytes(tensor->operand.dtype);
  for (size_t at = 0; at + bytes <= tensor->bytes.size(); at += bytes) {
    const float value = integers ? static_cast<float>(whole(*random)) : real(*random);
    numerics::StoreElement(tensor->bytes.data() + at, tensor->operand.dtype, value, false);
  }
}

Dims DimsOf(const Geometry& g) {
  return {{g.batch, g.input_channels, g.input_size[0], g.input_size[1], g.input_size[2]},
          {g.output_channels, g.group_input_channels(), g.kernel[0], g.kernel[1], g.kernel[2]},
          {g.batch, g.output_channels, g.output_size[0], g.output_size[1], g.output_size[2]}};
}

}  // namespace canopy::conv
