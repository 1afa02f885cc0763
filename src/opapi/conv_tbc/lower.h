// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_OPAPI_CONV_TBC_LOWER_H_
#define CANOPY_OPAPI_CONV_TBC_LOWER_H_

#include "opapi/conv_tbc/check.h"
#include "opapi/lowered.h"

namespace canopy::opapi::conv_tbc {

// The result points into `arguments`.
// REQUIRES: the rules accepted the arguments.
Lowered Lower(const Arguments& arguments, const product::Product& product);

}  // namespace canopy::opapi::conv_tbc

#endif  // CANOPY_OPAPI_CONV_TBC_LOWER_H_
