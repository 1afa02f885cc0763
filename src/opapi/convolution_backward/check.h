// SPDX-License-Identifier: Apache-2.0
// The arguments of aclnnConvolutionBackward and the rules about them.
#ifndef CANOPY_OPAPI_CONVOLUTION_BACKWARD_CHECK_H_
#define CANOPY_OPAPI_CONVOLUTION_BACKWARD_CHECK_H_

#include <cstdint>
#include <span>

#include "opapi/arguments.h"
#include "opapi/dtypes.h"
#include "opapi/rule.h"

namespace canopy::opapi::convolution_backward {

struct Arguments {
  TensorArgument grad_output{.name = "gradOutput"};
  TensorArgument input{.name = "input"};
  TensorArgument weight{.name = "weight"};
  IntArrayArgument bias_sizes{.name = "biasSizes"};
  IntArrayArgument stride{.name = "stride"};
  IntArrayArgument padding{.name = "padding"};
  IntArrayArgument dilation{.name = "dilation"};
  bool transposed = false;
  IntArrayArgument output_padding{.name = "outputPadding"};
  int64_t groups = 1;
  BoolArrayArgument output_mask{.name = "outputMask"};
  int cube_math_type = 0;
  TensorArgument grad_input{.name = "gradInput"};
  TensorArgument grad_weight{.name = "gradWeight"};
  TensorArgument grad_bias{.name = "gradBias"};
  ResultPointers results;

  int64_t spatial_rank() const { return input.rank() - 2; }
  // The tensor that kernels slide over, and the one with an element for each place of a kernel.
  const TensorArgument& map() const { return transposed ? grad_output : input; }
  const TensorArgument& windows() const { return transposed ? input : grad_output; }
  aclDataType promoted() const { return Promote(Promote(grad_output.view.dtype, input.view.dtype), weight.view.dtype); }
};

// Whether the product answers an empty input or weight with zeros (or a refusal) without relating shapes.
// REQUIRES: the rules before the shapes accepted.
bool OnEmptyPath(const Arguments& arguments, const product::Product& product);

std::span<const Rule<Arguments>> Rules();

}  // namespace canopy::opapi::convolution_backward

#endif  // CANOPY_OPAPI_CONVOLUTION_BACKWARD_CHECK_H_
