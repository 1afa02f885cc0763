// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_OPAPI_CONVOLUTION_BACKWARD_LOWER_H_
#define CANOPY_OPAPI_CONVOLUTION_BACKWARD_LOWER_H_

#include "opapi/convolution_backward/check.h"
#include "opapi/lowered.h"

namespace canopy::opapi::convolution_backward {

// The result points into `arguments`.
// REQUIRES: the rules accepted the arguments.
Lowered Lower(const Arguments& arguments, const product::Product& product);

}  // namespace canopy::opapi::convolution_backward

#endif  // CANOPY_OPAPI_CONVOLUTION_BACKWARD_LOWER_H_
