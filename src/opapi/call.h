// SPDX-License-Identifier: Apache-2.0
// Arguments to the text form of a call and back: what logs print, and what rules can be asked about without a caller.
#ifndef CANOPY_OPAPI_CALL_H_
#define CANOPY_OPAPI_CALL_H_

#include <vector>

#include "conv/call_text.h"
#include "opapi/arguments.h"

namespace canopy::opapi {

std::vector<int64_t> Entries(const IntArrayArgument& array);
// Extents from the third on.
std::vector<int64_t> SpatialSizes(const TensorArgument& tensor);

// A call of a TBC operator, but for its tensors' forms.
conv::Call TbcCall(conv::CallOp op, const TensorArgument& input, const TensorArgument& weight, int64_t pad, int math);

// Puts the tensor's type, strides, offset and absence into the call, whose sizes are set.
void PutForm(const TensorArgument& tensor, conv::CallTensor which, conv::Call* call);

// The tensor as the call describes it, tagged `format`, without data.
void GetTensor(const conv::Call& call, conv::CallTensor which, aclFormat format, TensorArgument* tensor);
void GetEntries(const std::vector<int64_t>& values, IntArrayArgument* array);

// NCL, NCHW or NCDHW.
aclFormat FormatOf(const conv::Call& call);

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_CALL_H_
