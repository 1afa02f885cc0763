// SPDX-License-Identifier: Apache-2.0
// The rules that check.cc lists, by what they are about.
#ifndef CANOPY_OPAPI_CONVOLUTION_RULES_H_
#define CANOPY_OPAPI_CONVOLUTION_RULES_H_

#include "opapi/convolution/check.h"

namespace canopy::opapi::convolution {

#define CANOPY_RULE(name) base::Status name(const Arguments& arguments, const product::Product& product)

// rules_arguments.cc: what can be said of each argument alone
CANOPY_RULE(ResultsGiven);
CANOPY_RULE(ArgumentsGiven);
CANOPY_RULE(HandlesLive);
CANOPY_RULE(BiasType);
CANOPY_RULE(TensorTypes);
CANOPY_RULE(Ranks);
CANOPY_RULE(Extents);
CANOPY_RULE(BiasShape);
CANOPY_RULE(AttributeLengths);
CANOPY_RULE(InputOutputFormats);
CANOPY_RULE(BiasFormat);
CANOPY_RULE(Formats);
CANOPY_RULE(StridePositive);
CANOPY_RULE(DilationPositive);
CANOPY_RULE(PaddingNotNegative);
CANOPY_RULE(GroupsPositive);

// rules_shapes.cc: how arguments relate
CANOPY_RULE(KernelNotEmpty);
CANOPY_RULE(KernelFits);
CANOPY_RULE(Channels);
CANOPY_RULE(OutputPaddingRange);
CANOPY_RULE(GroupsDivide);
CANOPY_RULE(TransposedChannels);
CANOPY_RULE(TransposedEmpty);
CANOPY_RULE(OutputShape);
CANOPY_RULE(EmptyGivesEmpty);
CANOPY_RULE(WorkFits);

// rules_types.cc: types, precision, products
CANOPY_RULE(CubeMathType);
CANOPY_RULE(Plain2d);
CANOPY_RULE(EightBitBias);
CANOPY_RULE(EightBitOperands);
CANOPY_RULE(EightBitOutput);
CANOPY_RULE(DocumentedLimits);
CANOPY_RULE(RemarkProduct);
CANOPY_RULE(RemarkTypes);
CANOPY_RULE(RemarkBiasFormat);
CANOPY_RULE(RemarkCubeMathType);

#undef CANOPY_RULE

}  // namespace canopy::opapi::convolution

#endif  // CANOPY_OPAPI_CONVOLUTION_RULES_H_
