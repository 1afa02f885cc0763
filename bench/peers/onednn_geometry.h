// SPDX-License-Identifier: Apache-2.0
// A call in oneDNN's terms: dimensions and strides of the user's tensors, and what a primitive may be offered instead.
#ifndef CANOPY_BENCH_PEERS_ONEDNN_GEOMETRY_H_
#define CANOPY_BENCH_PEERS_ONEDNN_GEOMETRY_H_

#include <oneapi/dnnl/dnnl.hpp>

#include "conv/call_text.h"

namespace canopy::bench {

struct OneDnnGeometry {
  bool deconvolution = false;
  dnnl::memory::dims input, output, weight, bias;  // oneDNN's order of axes
  dnnl::memory::dims stride, dilation, pad_begin, pad_end;
  dnnl::memory::desc user_input, user_grad_input, user_output, user_weight, user_grad_weight, user_bias;
  dnnl::memory::format_tag channels_last = dnnl::memory::format_tag::undef;
};

// Throws dnnl::error or std::runtime_error where oneDNN has no words for the call.
OneDnnGeometry GeometryOf(const conv::Call& call);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_PEERS_ONEDNN_GEOMETRY_H_
