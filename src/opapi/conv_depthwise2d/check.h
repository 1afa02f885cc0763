// SPDX-License-Identifier: Apache-2.0
// The arguments of aclnnConvDepthwise2d and the rules about them: those of a plain convolution with a group for each
// channel of self, and a few of its own.
#ifndef CANOPY_OPAPI_CONV_DEPTHWISE2D_CHECK_H_
#define CANOPY_OPAPI_CONV_DEPTHWISE2D_CHECK_H_

#include <span>

#include "opapi/arguments.h"
#include "opapi/convolution/check.h"
#include "opapi/rule.h"

namespace canopy::opapi::conv_depthwise2d {

struct Arguments {
  Arguments() {
    convolution.input.name = "self";
    convolution.output.name = "out";
  }

  // groups is the number of self's channels where self has rank 4.
  convolution::Arguments convolution;
  IntArrayArgument kernel_size{.name = "kernelSize"};
};

std::span<const Rule<Arguments>> Rules();

}  // namespace canopy::opapi::conv_depthwise2d

#endif  // CANOPY_OPAPI_CONV_DEPTHWISE2D_CHECK_H_
