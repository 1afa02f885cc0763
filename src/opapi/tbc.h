// SPDX-License-Identifier: Apache-2.0
// What the two operators over (time, batch, channel) tensors share.
#ifndef CANOPY_OPAPI_TBC_H_
#define CANOPY_OPAPI_TBC_H_

#include <cstdint>
#include <string>

#include "base/checked_math.h"
#include "base/status.h"
#include "conv/problem.h"
#include "opapi/arguments.h"
#include "opapi/limits.h"
#include "opapi/lowered.h"

namespace canopy::opapi {

// T + 2 * pad + 1 - K
base::Checked TbcOutputTime(const TensorArgument& input, const TensorArgument& weight, int64_t pad);

// "4 = T + 2*pad + 1 - K with T = 5, pad = 0, K = 2"
std::string TbcOutputTimeText(const TensorArgument& input, const TensorArgument& weight, int64_t pad);

// `result` is [TbcOutputTime, batch of `input`, output channels of `weight`].
base::Status RequireTbcResultShape(const TensorArgument& result, const TensorArgument& input,
                                   const TensorArgument& weight, int64_t pad);

// The number of multiply-adds fits 64 bits.
base::Status RequireTbcWorkFits(const TensorArgument& result, const TensorArgument& weight);

// The plain 1D convolution of `input` (T, B, Cin) and `weight` that gives `output` (T', B, Cout).
conv::Geometry TbcGeometry(const TensorArgument& input, const TensorArgument& weight, const TensorArgument& output,
                           int64_t pad);

// Steps and images of a problem with one tap and no padding are alike: where every tensor has them in one row, they
// become the width of one image, in which an engine meets no end every few steps.
void JoinStepsAndImages(conv::ConvProblem* problem);

// One call as limits see it. The argument must live as long as the result.
Limited TbcLimited(const TensorArgument& weight, int64_t pad);

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_TBC_H_
