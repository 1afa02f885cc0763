// SPDX-License-Identifier: Apache-2.0
#include "opapi/conv_depthwise2d/lower.h"

#include "opapi/convolution/lower.h"

namespace canopy::opapi::conv_depthwise2d {

Lowered Lower(const Arguments& arguments, const product::Product& product) {
  return convolution::Lower(arguments.convolution, product);
}

}  // namespace canopy::opapi::conv_depthwise2d
