// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_OPAPI_CONV_DEPTHWISE2D_LOWER_H_
#define CANOPY_OPAPI_CONV_DEPTHWISE2D_LOWER_H_

#include "opapi/conv_depthwise2d/check.h"
#include "opapi/lowered.h"

namespace canopy::opapi::conv_depthwise2d {

// The result points into `arguments`.
// REQUIRES: the rules accepted the arguments.
Lowered Lower(const Arguments& arguments, const product::Product& product);

}  // namespace canopy::opapi::conv_depthwise2d

#endif  // CANOPY_OPAPI_CONV_DEPTHWISE2D_LOWER_H_
