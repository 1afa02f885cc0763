// SPDX-License-Identifier: Apache-2.0
// The arguments of aclnnConvTbcBackward and the rules about them. Axes are (time, batch, channel), those of weight
// (offset, input channel, output channel), whatever the format tag.
#ifndef CANOPY_OPAPI_CONV_TBC_BACKWARD_CHECK_H_
#define CANOPY_OPAPI_CONV_TBC_BACKWARD_CHECK_H_

#include <cstdint>
#include <span>

#include "opapi/arguments.h"
#include "opapi/dtypes.h"
#include "opapi/rule.h"

namespace canopy::opapi::conv_tbc_backward {

struct Arguments {
  TensorArgument self{.name = "self"};
  TensorArgument input{.name = "input"};
  TensorArgument weight{.name = "weight"};
  TensorArgument bias{.name = "bias"};
  int64_t pad = 0;
  int cube_math_type = 0;
  TensorArgument grad_input{.name = "gradInput"};
  TensorArgument grad_weight{.name = "gradWeight"};
  TensorArgument grad_bias{.name = "gradBias"};
  ResultPointers results;

  aclDataType promoted() const { return Promote(Promote(self.view.dtype, input.view.dtype), weight.view.dtype); }
};

std::span<const Rule<Arguments>> Rules();

}  // namespace canopy::opapi::conv_tbc_backward

#endif  // CANOPY_OPAPI_CONV_TBC_BACKWARD_CHECK_H_
