// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_OPAPI_CONVOLUTION_LOWER_H_
#define CANOPY_OPAPI_CONVOLUTION_LOWER_H_

#include "opapi/convolution/check.h"
#include "opapi/lowered.h"

namespace canopy::opapi::convolution {

// The result points into `arguments`.
// REQUIRES: the rules accepted the arguments.
Lowered Lower(const Arguments& arguments, const product::Product& product);

}  // namespace canopy::opapi::convolution

#endif  // CANOPY_OPAPI_CONVOLUTION_LOWER_H_
