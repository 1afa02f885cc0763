// SPDX-License-Identifier: Apache-2.0
#include "opapi/convolution_backward/check.h"

#include "opapi/convolution_backward/rules.h"

namespace canopy::opapi::convolution_backward {
namespace {

using enum RuleKind;

// In the order in which they are tested; the first refusal decides.
constexpr Rule<Arguments> kRules[] = {
    {"results-given", "workspaceSize and executor are not NULL", &ResultsGiven, kPresence},
    {"arguments-given", "no input, attribute array or mask is NULL, but biasSizes may be", &ArgumentsGiven, kPresence},
    {"handles-live", "every handle is a living one of this library", &HandlesLive, kPresence},
    {"mask-length", "outputMask has three entries", &MaskLength, kPresence},
    {"selected-outputs-given", "an output that outputMask selects is not NULL", &SelectedOutputsGiven, kPresence},

    {"product-supported", "the product offers the operator", &ProductSupported},
    {"input-types", "gradOutput, input and weight have types of the product", &InputTypes},
    {"output-types", "every output given has a type of the product", &OutputTypes},
    {"output-types-match", "each gradient has its tensor's type", &OutputTypesMatch},
    {"8bit-needs-grad-input", "8-bit types need gradInput to be computed", &EightBitNeedsGradInput},
    {"8bit-all-alike", "where one tensor is of an 8-bit type all are", &EightBitAllAlike},
    {"8bit-grad-weight", "HIFLOAT8 gives a FLOAT gradWeight, ungrouped, without outputPadding", &EightBitGradWeight},
    {"8bit-grad-bias", "gradBias is not computed in 8 bits", &EightBitGradBias},
    {"ranks-and-formats", "tensors have rank 3, 4 or 5 and the format of their rank", &RanksAndFormats},
    {"extents", "extents are not negative and sizes fit 64 bits", &Extents},
    {"grad-bias-format", "gradBias of a plain convolution is tagged ND", &GradBiasFormat},
    {"stride-positive", "every stride is 1 or more", &StridePositive},
    {"padding-not-negative", "every padding is 0 or more", &PaddingNotNegative},
    {"dilation-positive", "every dilation is 1 or more", &DilationPositive},
    {"output-padding-range", "outputPadding is 0, or not negative where transposed", &OutputPaddingRange},
    {"output-padding-below-stride", "outputPadding of a transposed 3D convolution is below its stride",
     &OutputPaddingBelowStride},
    {"groups-positive", "groups is 1 or more", &GroupsPositive},
    {"cube-math-type", "cubeMathType is 0 to 3 and one that the product computes the inputs' type with", &CubeMathType},

    {"ranks-equal", "gradOutput, input and weight have one rank", &RanksEqual},
    {"attribute-lengths", "attribute arrays have an entry for each spatial axis", &AttributeLengths},
    {"not-empty", "gradOutput and weight have elements", &NotEmpty, kDemand, &OnFullPath},
    {"grad-input-shape", "gradInput has input's shape", &GradInputShape, kDemand, &OnFullPath},
    {"grad-weight-shape", "gradWeight has weight's shape", &GradWeightShape, kDemand, &OnFullPath},
    {"grad-bias-shape", "gradBias has one extent, gradOutput's channels", &GradBiasShape, kDemand, &OnFullPath},
    {"weight-channels", "weight's first extent is the channels that its windows give", &WeightChannels, kDemand,
     &OnFullPath},
    {"group-channels", "weight's second extent, times groups, is the channels that its windows cover", &GroupChannels,
     kDemand, &OnFullPath},
    {"groups-divide", "groups divides weight's first extent", &GroupsDivide, kDemand, &OnFullPath},
    {"batch", "gradOutput and input have one batch size", &BatchEqual, kDemand, &OnFullPath},
    {"sizes-relate", "spatial extents are those that the windows give", &SizesRelate, kDemand, &OnFullPath},
    {"work-fits", "the number of multiply-adds fits 64 bits", &WorkFits, kDemand, &OnFullPath},
    {"three-d", "the product offers 3D", &ThreeD},
    {"grouped-3d-weight", "a grouped 3D convolution in 16 bits has no FLOAT gradWeight", &Grouped3dWeight, kDemand,
     &OnFullPath},

    {"empty-bias-sizes", "biasSizes is gradBias' shape", &EmptyBiasSizes, kDemand, &AnyEmpty},
    {"empty-input-axes", "gradInput needs the batch or the channels to be what is empty", &EmptyInputAxes, kDemand,
     &AnyEmpty},
    {"empty-groups", "groups divides weight's first extent", &GroupsDivide, kDemand, &OnEmptyPath},
    {"empty-channels", "channels agree unless both are 0", &EmptyChannels, kDemand, &OnEmptyPath},
    {"empty-windows", "the kernel fits into the padded input", &EmptyWindows, kDemand, &OnEmptyPath},

    {"documented-limits", "sizes are within the device's documented limits", &DocumentedLimits, kLimit, &OnFullPath},
    {"remark-format", "rank 4 is tagged NCHW", &RemarkFormat, kRemark},
    {"remark-bias-sizes", "biasSizes is not NULL", &RemarkBiasSizes, kRemark},
    {"remark-types", "gradients have the types of their tensors", &RemarkTypes, kRemark},
    {"remark-cube-math-type", "USE_FP16 is not for BF16", &RemarkCubeMathType, kRemark},
    {"remark-output-padding", "outputPadding is below the stride", &RemarkOutputPadding, kRemark},
    {"remark-8bit", "FLOAT8_E4M3FN is documented and has no kernel on the device", &RemarkEightBit, kRemark},
};

}  // namespace

std::span<const Rule<Arguments>> Rules() { return kRules; }

}  // namespace canopy::opapi::convolution_backward
