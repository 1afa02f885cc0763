// SPDX-License-Identifier: Apache-2.0
// The arguments of aclnnConvolution and the rules about them.
#ifndef CANOPY_OPAPI_CONVOLUTION_CHECK_H_
#define CANOPY_OPAPI_CONVOLUTION_CHECK_H_

#include <cstdint>
#include <span>

#include "opapi/arguments.h"
#include "opapi/dtypes.h"
#include "opapi/rule.h"
#include "opapi/window.h"

namespace canopy::opapi::convolution {

struct Arguments {
  TensorArgument input{.name = "input"};
  TensorArgument weight{.name = "weight"};
  TensorArgument bias{.name = "bias"};
  IntArrayArgument stride{.name = "stride"};
  IntArrayArgument padding{.name = "padding"};
  IntArrayArgument dilation{.name = "dilation"};
  bool transposed = false;
  IntArrayArgument output_padding{.name = "outputPadding"};
  int64_t groups = 1;
  TensorArgument output{.name = "output"};
  int cube_math_type = 0;
  ResultPointers results;

  int64_t spatial_rank() const { return input.rank() - 2; }
  aclDataType promoted() const { return Promote(input.view.dtype, weight.view.dtype); }
};

// REQUIRES: the arrays have the lengths that the rules demand.
Window WindowOn(const Arguments& arguments, int64_t axis);

std::span<const Rule<Arguments>> Rules();

}  // namespace canopy::opapi::convolution

#endif  // CANOPY_OPAPI_CONVOLUTION_CHECK_H_
