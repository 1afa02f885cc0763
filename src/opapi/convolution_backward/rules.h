// SPDX-License-Identifier: Apache-2.0
// The rules that check.cc lists, by what they are about.
#ifndef CANOPY_OPAPI_CONVOLUTION_BACKWARD_RULES_H_
#define CANOPY_OPAPI_CONVOLUTION_BACKWARD_RULES_H_

#include "opapi/convolution_backward/check.h"

namespace canopy::opapi::convolution_backward {

#define CANOPY_RULE(name) base::Status name(const Arguments& arguments, const product::Product& product)

// rules_arguments.cc: what can be said of each argument alone
CANOPY_RULE(ResultsGiven);
CANOPY_RULE(ArgumentsGiven);
CANOPY_RULE(HandlesLive);
CANOPY_RULE(MaskLength);
CANOPY_RULE(SelectedOutputsGiven);
CANOPY_RULE(ProductSupported);
CANOPY_RULE(InputTypes);
CANOPY_RULE(OutputTypes);
CANOPY_RULE(OutputTypesMatch);
CANOPY_RULE(EightBitNeedsGradInput);
CANOPY_RULE(EightBitAllAlike);
CANOPY_RULE(EightBitGradWeight);
CANOPY_RULE(EightBitGradBias);
CANOPY_RULE(RanksAndFormats);
CANOPY_RULE(Extents);
CANOPY_RULE(GradBiasFormat);
CANOPY_RULE(StridePositive);
CANOPY_RULE(PaddingNotNegative);
CANOPY_RULE(DilationPositive);
CANOPY_RULE(OutputPaddingRange);
CANOPY_RULE(OutputPaddingBelowStride);
CANOPY_RULE(GroupsPositive);
CANOPY_RULE(CubeMathType);

// rules_shapes.cc: how arguments relate
bool OnFullPath(const Arguments& arguments, const product::Product& product);
CANOPY_RULE(RanksEqual);
CANOPY_RULE(AttributeLengths);
CANOPY_RULE(NotEmpty);
CANOPY_RULE(GradInputShape);
CANOPY_RULE(GradWeightShape);
CANOPY_RULE(GradBiasShape);
CANOPY_RULE(WeightChannels);
CANOPY_RULE(GroupChannels);
CANOPY_RULE(GroupsDivide);
CANOPY_RULE(BatchEqual);
CANOPY_RULE(SizesRelate);
CANOPY_RULE(WorkFits);
CANOPY_RULE(ThreeD);
CANOPY_RULE(Grouped3dWeight);

// rules_empty.cc: tensors without elements
bool AnyEmpty(const Arguments& arguments, const product::Product& product);
CANOPY_RULE(EmptyBiasSizes);
CANOPY_RULE(EmptyInputAxes);
CANOPY_RULE(EmptyChannels);
CANOPY_RULE(EmptyWindows);

// rules_advice.cc: the device's limits, and where the documents are stricter
CANOPY_RULE(DocumentedLimits);
CANOPY_RULE(RemarkFormat);
CANOPY_RULE(RemarkBiasSizes);
CANOPY_RULE(RemarkTypes);
CANOPY_RULE(RemarkCubeMathType);
CANOPY_RULE(RemarkOutputPadding);
CANOPY_RULE(RemarkEightBit);

#undef CANOPY_RULE

}  // namespace canopy::opapi::convolution_backward

#endif  // CANOPY_OPAPI_CONVOLUTION_BACKWARD_RULES_H_
