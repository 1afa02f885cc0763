// SPDX-License-Identifier: Apache-2.0
#include "opapi/convolution/check.h"

#include "opapi/convolution/rules.h"

namespace canopy::opapi::convolution {
namespace {

using enum RuleKind;

bool IsTransposed(const Arguments& arguments, const product::Product&) { return arguments.transposed; }

// In the order in which they are tested; the first refusal decides.
constexpr Rule<Arguments> kRules[] = {
    {"results-given", "workspaceSize and executor are not NULL", &ResultsGiven, kPresence},
    {"arguments-given", "nothing is NULL but bias and, where transposed is false, outputPadding", &ArgumentsGiven,
     kPresence},
    {"handles-live", "every handle is a living one of this library", &HandlesLive, kPresence},

    {"bias-type", "bias is FLOAT, FLOAT16 or BF16", &BiasType},
    {"tensor-types", "input, weight and output have types of the product", &TensorTypes},
    {"ranks", "input has rank 3, 4 or 5, and weight and output have the same", &Ranks},
    {"extents", "extents are not negative and sizes fit 64 bits", &Extents},
    {"bias-shape", "bias has one extent, the output channels", &BiasShape},
    {"attribute-lengths", "attribute arrays have an entry for each spatial axis", &AttributeLengths},
    {"input-output-formats", "input and output have one format", &InputOutputFormats},
    {"bias-format", "bias is tagged ND, NCL, NCHW or NCDHW", &BiasFormat},
    {"formats", "tensors have the format of their rank: NCL, NCHW, NCDHW", &Formats},
    {"kernel-not-empty", "every spatial extent of weight is 1 or more", &KernelNotEmpty},
    {"stride-positive", "every stride is 1 or more", &StridePositive},
    {"dilation-positive", "every dilation is 1 or more", &DilationPositive},
    {"padding-not-negative", "every padding is 0 or more", &PaddingNotNegative},
    {"kernel-fits", "the dilated kernel fits into the padded input", &KernelFits},
    {"groups-positive", "groups is 1 or more", &GroupsPositive},
    {"channels", "input and weight agree in channels", &Channels},
    {"output-padding-range", "outputPadding is 0 or more and below the greater of stride and dilation",
     &OutputPaddingRange, kDemand, &IsTransposed},
    {"groups-divide", "groups divides weight's first extent", &GroupsDivide},
    {"transposed-channels", "input has channels", &TransposedChannels, kDemand, &IsTransposed},
    {"transposed-empty", "input's or weight's spatial extents are 0 only where the product takes that",
     &TransposedEmpty, kDemand, &IsTransposed},
    {"output-shape", "output has the shape that the attributes give", &OutputShape},
    {"empty-gives-empty", "an empty input or weight gives an empty output", &EmptyGivesEmpty},
    {"work-fits", "the number of multiply-adds fits 64 bits", &WorkFits},
    {"cube-math-type", "cubeMathType is 0 to 4 and one that the product computes the inputs' type with", &CubeMathType},
    {"plain-2d", "the product offers more than plain 2D", &Plain2d},
    {"8bit-bias", "a transposed convolution in 8 bits has no bias", &EightBitBias, kDemand, &IsTransposed},
    {"8bit-operands", "input and weight are both of one 8-bit type or of none", &EightBitOperands},
    {"8bit-output", "a transposed convolution has an 8-bit output where its inputs have that type", &EightBitOutput,
     kDemand, &IsTransposed},

    {"documented-limits", "sizes are within the device's documented limits", &DocumentedLimits, kLimit},
    {"remark-product", "the product is one that the documents list", &RemarkProduct, kRemark},
    {"remark-types", "bias and output have the inputs' promoted type", &RemarkTypes, kRemark},
    {"remark-bias-format", "bias of a transposed convolution is tagged ND", &RemarkBiasFormat, kRemark, &IsTransposed},
    {"remark-cube-math-type", "cubeMathType is 0 to 3, and not 2 for BF16", &RemarkCubeMathType, kRemark},
};

}  // namespace

std::span<const Rule<Arguments>> Rules() { return kRules; }

}  // namespace canopy::opapi::convolution
