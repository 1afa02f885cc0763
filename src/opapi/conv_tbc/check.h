// SPDX-License-Identifier: Apache-2.0
// The arguments of aclnnConvTbc and the rules about them. Axes are (time, batch, channel), those of weight (offset,
// input channel, output channel), whatever the format tag.
#ifndef CANOPY_OPAPI_CONV_TBC_CHECK_H_
#define CANOPY_OPAPI_CONV_TBC_CHECK_H_

#include <cstdint>
#include <span>

#include "opapi/arguments.h"
#include "opapi/rule.h"

namespace canopy::opapi::conv_tbc {

struct Arguments {
  TensorArgument self{.name = "self"};
  TensorArgument weight{.name = "weight"};
  TensorArgument bias{.name = "bias"};
  int64_t pad = 0;
  TensorArgument output{.name = "output"};
  int cube_math_type = 0;
  ResultPointers results;
};

std::span<const Rule<Arguments>> Rules();

}  // namespace canopy::opapi::conv_tbc

#endif  // CANOPY_OPAPI_CONV_TBC_CHECK_H_
