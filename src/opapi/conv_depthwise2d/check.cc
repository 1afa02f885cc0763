// SPDX-License-Identifier: Apache-2.0
#include "opapi/conv_depthwise2d/check.h"

#include "opapi/convolution/rules.h"
#include "opapi/dtypes.h"
#include "opapi/require.h"
#include "opapi/text.h"

namespace canopy::opapi::conv_depthwise2d {
namespace {

using base::Status;
using product::Product;
using enum RuleKind;

struct Support {
  product::Arch arch;
  DTypeSet types;
};

constexpr Support kSupport[] = {
#define CANOPY_SUPPORT(arch, types) {product::Arch::arch, types},
#include "opapi/conv_depthwise2d/support.inc"
#undef CANOPY_SUPPORT
};

const Support* FindSupport(const Product& product) {
  for (const Support& support : kSupport) {
    if (support.arch == product.arch) return &support;
  }
  return nullptr;
}

// A rule of the plain convolution.
template <Status (*check)(const convolution::Arguments&, const Product&)>
Status Plain(const Arguments& a, const Product& product) {
  return check(a.convolution, product);
}

Status ArgumentsGiven(const Arguments& a, const Product&) {
  CANOPY_RETURN_IF_ERROR(RequireGiven(a.convolution.input));
  CANOPY_RETURN_IF_ERROR(RequireGiven(a.convolution.weight));
  CANOPY_RETURN_IF_ERROR(RequireGiven(a.kernel_size));
  CANOPY_RETURN_IF_ERROR(RequireGiven(a.convolution.stride));
  CANOPY_RETURN_IF_ERROR(RequireGiven(a.convolution.padding));
  CANOPY_RETURN_IF_ERROR(RequireGiven(a.convolution.dilation));
  return RequireGiven(a.convolution.output);
}

Status HandlesLive(const Arguments& a, const Product& product) {
  CANOPY_RETURN_IF_ERROR(convolution::HandlesLive(a.convolution, product));
  return RequireLive({}, {&a.kernel_size});
}

bool Offers(const Product& product) { return FindSupport(product) != nullptr; }

Status ProductSupported(const Arguments&, const Product& product) {
  return Offers(product) ? Status() : RefuseProduct(product, &Offers);
}

Status Types(const Arguments& a, const Product& product) {
  const convolution::Arguments& c = a.convolution;
  CANOPY_RETURN_IF_ERROR(RequireDType(c.input, FindSupport(product)->types, product));
  CANOPY_RETURN_IF_ERROR(RequireSameDType(c.weight, c.input));
  CANOPY_RETURN_IF_ERROR(RequireSameDType(c.output, c.input));
  if (c.input.view.dtype == ACL_HIFLOAT8) return RequireDType(c.bias, kFloatsAndBf16, product);
  return RequireSameDType(c.bias, c.input);
}

Status Ranks(const Arguments& a, const Product&) {
  for (const TensorArgument* tensor : {&a.convolution.input, &a.convolution.weight, &a.convolution.output}) {
    CANOPY_RETURN_IF_ERROR(RequireRank(*tensor, 4));
  }
  return {};
}

Status AttributeLengths(const Arguments& a, const Product&) {
  for (const IntArrayArgument* array :
       {&a.kernel_size, &a.convolution.stride, &a.convolution.padding, &a.convolution.dilation}) {
    CANOPY_RETURN_IF_ERROR(RequireLength(*array, {2}, "for 2 spatial axes"));
  }
  return {};
}

Status KernelSizeMatches(const Arguments& a, const Product&) {
  for (int64_t axis = 0; axis < 2; ++axis) {
    const int64_t extent = a.convolution.weight.dim(axis + 2);
    if (a.kernel_size[axis] == extent) continue;
    return Refuse(Text("kernelSize[", axis, "]"), Text(a.kernel_size[axis]),
                  Text("weight extent ", axis + 2, ", ", extent));
  }
  return {};
}

Status OneChannelAGroup(const Arguments& a, const Product&) {
  return RequireExtent(a.convolution.weight, 1, 1, "each group has one channel of self");
}

Status ChannelsMultiply(const Arguments& a, const Product&) {
  const int64_t channels = a.convolution.input.dim(1);
  if (channels == 0) return Refuse("self extent 1", "0", "1 or more");
  if (a.convolution.weight.dim(0) % channels == 0) return {};
  return Refuse("weight extent 0", Text(a.convolution.weight.dim(0)),
                Text("a multiple of self's channels, ", channels));
}

// In the order in which they are tested; the first refusal decides.
constexpr Rule<Arguments> kRules[] = {
    {"results-given", "workspaceSize and executor are not NULL", &Plain<&convolution::ResultsGiven>, kPresence},
    {"arguments-given", "nothing is NULL but bias", &ArgumentsGiven, kPresence},
    {"handles-live", "every handle is a living one of this library", &HandlesLive, kPresence},

    {"product-supported", "the product offers the operator", &ProductSupported},
    {"types", "tensors have one type of the product; with HIFLOAT8 bias is FLOAT, FLOAT16 or BF16", &Types},
    {"ranks", "tensors have rank 4", &Ranks},
    {"extents", "extents are not negative and sizes fit 64 bits", &Plain<&convolution::Extents>},
    {"bias-shape", "bias has one extent, the output channels", &Plain<&convolution::BiasShape>},
    {"attribute-lengths", "attribute arrays have two entries", &AttributeLengths},
    {"formats", "tensors are tagged NCHW", &Plain<&convolution::Formats>},
    {"bias-format", "bias is tagged ND, NCL, NCHW or NCDHW", &Plain<&convolution::BiasFormat>},
    {"kernel-size-matches", "kernelSize is weight's spatial extents", &KernelSizeMatches},
    {"kernel-not-empty", "every spatial extent of weight is 1 or more", &Plain<&convolution::KernelNotEmpty>},
    {"stride-positive", "every stride is 1 or more", &Plain<&convolution::StridePositive>},
    {"dilation-positive", "every dilation is 1 or more", &Plain<&convolution::DilationPositive>},
    {"padding-not-negative", "every padding is 0 or more", &Plain<&convolution::PaddingNotNegative>},
    {"kernel-fits", "the dilated kernel fits into the padded input", &Plain<&convolution::KernelFits>},
    {"one-channel-a-group", "weight's second extent is 1", &OneChannelAGroup},
    {"channels-multiply", "weight's first extent is a multiple of self's channels", &ChannelsMultiply},
    {"output-shape", "out has the shape that the attributes give", &Plain<&convolution::OutputShape>},
    {"empty-gives-empty", "an empty self or weight gives an empty out", &Plain<&convolution::EmptyGivesEmpty>},
    {"work-fits", "the number of multiply-adds fits 64 bits", &Plain<&convolution::WorkFits>},
    {"cube-math-type", "cubeMathType is 0 to 4 and one that the product computes self's type with",
     &Plain<&convolution::CubeMathType>},
};

}  // namespace

std::span<const Rule<Arguments>> Rules() { return kRules; }

}  // namespace canopy::opapi::conv_depthwise2d
