// SPDX-License-Identifier: Apache-2.0
// One way of computing backward with oneDNN: a primitive for the data, one for the weights, and the reorders around
// them.
#ifndef CANOPY_BENCH_PEERS_ONEDNN_WAY_H_
#define CANOPY_BENCH_PEERS_ONEDNN_WAY_H_

#include <optional>
#include <string>
#include <unordered_map>

#include "bench/peers/onednn_buffers.h"
#include "bench/peers/onednn_geometry.h"

namespace canopy::bench {

// The user's tensors.
struct OneDnnTensors {
  dnnl::memory input, weight, grad_output, grad_input, grad_weight, grad_bias;
};

struct OneDnnContext {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  OneDnnBuffers buffers;
};

// A tensor in a primitive's format.
struct OneDnnOperand {
  dnnl::memory own;                                 // the user's itself where the formats are equal
  std::optional<dnnl::reorder> copy;                // from or to the user's where they are not
  std::unordered_map<int, dnnl::memory> arguments;  // of the copy

  void Copy(const dnnl::stream& stream) const {
    if (copy) copy->execute(stream, arguments);
  }
  bool same_format_as(const OneDnnOperand& other) const { return own.get_desc() == other.own.get_desc(); }
};

// A primitive with its operands. Runs synchronously.
struct OneDnnStep {
  dnnl::primitive primitive;
  std::string implementation;
  std::vector<OneDnnOperand> inputs, outputs;  // inputs[0] is grad_output
  std::unordered_map<int, dnnl::memory> arguments;

  // `has_grad_output`: another step of the same call has filled inputs[0] already, in the same format.
  void Run(OneDnnContext* context, bool has_grad_output) const;
  bool is_reference() const { return implementation.find("ref") != implementation.npos; }
};

// `way`: see onednn.h. Throws dnnl::error where the library has no such primitive.
OneDnnStep MakeDataStep(const OneDnnGeometry& geometry, const std::string& way, const OneDnnTensors& tensors,
                        OneDnnContext* context);
OneDnnStep MakeWeightsStep(const OneDnnGeometry& geometry, const std::string& way, bool bias,
                           const OneDnnTensors& tensors, OneDnnContext* context);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_PEERS_ONEDNN_WAY_H_
