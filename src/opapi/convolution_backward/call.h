// SPDX-License-Identifier: Apache-2.0
// The arguments to the text form of a call and back.
#ifndef CANOPY_OPAPI_CONVOLUTION_BACKWARD_CALL_H_
#define CANOPY_OPAPI_CONVOLUTION_BACKWARD_CALL_H_

#include <string>

#include "conv/call_text.h"
#include "opapi/convolution_backward/check.h"

namespace canopy::opapi::convolution_backward {

// REQUIRES: the rules accepted the arguments.
std::string ToText(const Arguments& arguments);

// What the caller of `call` would pass, but for data. REQUIRES: call.op is this operator's.
Arguments FromCall(const conv::Call& call);

}  // namespace canopy::opapi::convolution_backward

#endif  // CANOPY_OPAPI_CONVOLUTION_BACKWARD_CALL_H_
