// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/onednn_way.h"

namespace canopy::bench {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using desc = memory::desc;
using type = memory::data_type;

// The classes of one kind of primitive.
struct Convolution {
  using Forward = dnnl::convolution_forward;
  using Data = dnnl::convolution_backward_data;
  using Weights = dnnl::convolution_backward_weights;
  static constexpr algorithm kDirect = algorithm::convolution_direct, kWinograd = algorithm::convolution_winograd;
};
struct Deconvolution {
  using Forward = dnnl::deconvolution_forward;
  using Data = dnnl::deconvolution_backward_data;
  using Weights = dnnl::deconvolution_backward_weights;
  static constexpr algorithm kDirect = algorithm::deconvolution_direct, kWinograd = algorithm::deconvolution_winograd;
};

// What a way offers to a primitive.
struct Offer {
  Offer(const OneDnnGeometry& geometry, std::string way) {
    const bool detour = way.starts_with("f32-");
    if (detour) way = way.substr(4);
    winograd = way == "wino";
    const bool plain = way.starts_with("plain");
    const auto typed = [&](const desc& user) {
      desc copy = user;
      if (detour) copy.data.data_type = dnnl_f32;
      return copy;
    };
    const auto activation = [&](const memory::dims& dims, const desc& user) {
      if (plain && !detour) return user;
      if (plain) return desc(dims, type::f32, Strides(user));
      return desc(dims, detour ? type::f32 : user.data_type(),
                  way == "nhwc" ? geometry.channels_last : memory::format_tag::any);
    };
    const auto weights = [&](const desc& user) {
      if (way != "plainw") return desc(geometry.weight, detour ? type::f32 : user.data_type(), memory::format_tag::any);
      return detour ? desc(geometry.weight, type::f32, Strides(user)) : user;
    };
    input = activation(geometry.input, geometry.user_input);
    grad_input = activation(geometry.input, geometry.user_grad_input);
    output = activation(geometry.output, geometry.user_output);
    weight = weights(geometry.user_weight);
    grad_weight = weights(geometry.user_grad_weight);
    bias = typed(geometry.user_bias);
  }

  static memory::dims Strides(const desc& user) {
    const dnnl_blocking_desc_t& blocking = user.data.format_desc.blocking;
    return memory::dims(blocking.strides, blocking.strides + user.data.ndims);
  }

  bool winograd = false;
  desc input, grad_input, output, weight, grad_weight, bias;
};

OneDnnOperand Input(const char* part, const memory& user, const desc& format, OneDnnContext* context) {
  if (user.get_desc() == format) return {user, {}, {}};
  const memory own = context->buffers.Get(part, format, context->engine);
  return {own, dnnl::reorder(user, own), {{DNNL_ARG_FROM, user}, {DNNL_ARG_TO, own}}};
}

OneDnnOperand Output(const char* part, const memory& user, const desc& format, OneDnnContext* context) {
  if (user.get_desc() == format) return {user, {}, {}};
  const memory own = context->buffers.Get(part, format, context->engine);
  return {own, dnnl::reorder(own, user), {{DNNL_ARG_FROM, own}, {DNNL_ARG_TO, user}}};
}

template <class Kind>
typename Kind::Forward::primitive_desc ForwardHint(const OneDnnGeometry& g, const Offer& offer, const desc& input,
                                                   const desc& weight, const OneDnnContext& context) {
  return {typename Kind::Forward::desc(dnnl::prop_kind::forward_training,
                                       offer.winograd ? Kind::kWinograd : Kind::kDirect, input, weight, offer.bias,
                                       offer.output, g.stride, g.dilation, g.pad_begin, g.pad_end),
          context.engine};
}

template <class Kind>
OneDnnStep DataStep(const OneDnnGeometry& g, const Offer& offer, const OneDnnTensors& tensors, OneDnnContext* context) {
  const typename Kind::Data::primitive_desc primitive(
      typename Kind::Data::desc(offer.winograd ? Kind::kWinograd : Kind::kDirect, offer.grad_input, offer.weight,
                                offer.output, g.stride, g.dilation, g.pad_begin, g.pad_end),
      context->engine, ForwardHint<Kind>(g, offer, offer.grad_input, offer.weight, *context));
  OneDnnStep step;
  step.primitive = typename Kind::Data(primitive);
  step.implementation = primitive.impl_info_str();
  step.inputs.push_back(Input("grad_output", tensors.grad_output, primitive.diff_dst_desc(), context));
  step.inputs.push_back(Input("weight", tensors.weight, primitive.weights_desc(), context));
  step.outputs.push_back(Output("grad_input", tensors.grad_input, primitive.diff_src_desc(), context));
  step.arguments = {{DNNL_ARG_DIFF_DST, step.inputs[0].own},
                    {DNNL_ARG_WEIGHTS, step.inputs[1].own},
                    {DNNL_ARG_DIFF_SRC, step.outputs[0].own}};
  return step;
}

template <class Kind>
OneDnnStep WeightsStep(const OneDnnGeometry& g, const Offer& offer, bool bias, const OneDnnTensors& tensors,
                       OneDnnContext* context) {
  const algorithm chosen = offer.winograd ? Kind::kWinograd : Kind::kDirect;
  using Desc = typename Kind::Weights::desc;
  const Desc described =
      bias ? Desc(chosen, offer.input, offer.grad_weight, offer.bias, offer.output, g.stride, g.dilation, g.pad_begin,
                  g.pad_end)
           : Desc(chosen, offer.input, offer.grad_weight, offer.output, g.stride, g.dilation, g.pad_begin, g.pad_end);
  const typename Kind::Weights::primitive_desc primitive(
      described, context->engine, ForwardHint<Kind>(g, offer, offer.input, offer.grad_weight, *context));
  OneDnnStep step;
  step.primitive = typename Kind::Weights(primitive);
  step.implementation = primitive.impl_info_str();
  step.inputs.push_back(Input("grad_output", tensors.grad_output, primitive.diff_dst_desc(), context));
  step.inputs.push_back(Input("input", tensors.input, primitive.src_desc(), context));
  step.outputs.push_back(Output("grad_weight", tensors.grad_weight, primitive.diff_weights_desc(), context));
  step.arguments = {{DNNL_ARG_DIFF_DST, step.inputs[0].own},
                    {DNNL_ARG_SRC, step.inputs[1].own},
                    {DNNL_ARG_DIFF_WEIGHTS, step.outputs[0].own}};
  if (bias) {
    step.outputs.push_back(Output("grad_bias", tensors.grad_bias, primitive.diff_bias_desc(), context));
    step.arguments[DNNL_ARG_DIFF_BIAS] = step.outputs[1].own;
  }
  return step;
}

}  // namespace

void OneDnnStep::Run(OneDnnContext* context, bool has_grad_output) const {
  for (size_t i = has_grad_output ? 1 : 0; i < inputs.size(); ++i) inputs[i].Copy(context->stream);
  primitive.execute(context->stream, arguments);
  for (const OneDnnOperand& output : outputs) output.Copy(context->stream);
  context->stream.wait();
}

OneDnnStep MakeDataStep(const OneDnnGeometry& geometry, const std::string& way, const OneDnnTensors& tensors,
                        OneDnnContext* context) {
  const Offer offer(geometry, way);
  return geometry.deconvolution ? DataStep<Deconvolution>(geometry, offer, tensors, context)
                                : DataStep<Convolution>(geometry, offer, tensors, context);
}

OneDnnStep MakeWeightsStep(const OneDnnGeometry& geometry, const std::string& way, bool bias,
                           const OneDnnTensors& tensors, OneDnnContext* context) {
  const Offer offer(geometry, way);
  return geometry.deconvolution ? WeightsStep<Deconvolution>(geometry, offer, bias, tensors, context)
                                : WeightsStep<Convolution>(geometry, offer, bias, tensors, context);
}

}  // namespace canopy::bench
