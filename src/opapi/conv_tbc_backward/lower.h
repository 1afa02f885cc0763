// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_OPAPI_CONV_TBC_BACKWARD_LOWER_H_
#define CANOPY_OPAPI_CONV_TBC_BACKWARD_LOWER_H_

#include "opapi/conv_tbc_backward/check.h"
#include "opapi/lowered.h"

namespace canopy::opapi::conv_tbc_backward {

// The result points into `arguments`.
// REQUIRES: the rules accepted the arguments.
Lowered Lower(const Arguments& arguments, const product::Product& product);

}  // namespace canopy::opapi::conv_tbc_backward

#endif  // CANOPY_OPAPI_CONV_TBC_BACKWARD_LOWER_H_
