// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_BENCH_PEERS_ONEDNN_H_
#define CANOPY_BENCH_PEERS_ONEDNN_H_

#include <memory>

#include "bench/implementation.h"

namespace canopy::bench {

// oneDNN 2.x from plain tensors to plain tensors: reorders into the formats of a primitive, and back, are inside the
// time; creation is not, and all memory is there beforehand, which is better than any framework has it. Ways:
//   any     formats of activations and weights left to the library
//   nhwc    activations with the channels last, weights left to the library
//   plain   activations as the user has them, weights left to the library
//   plainw  weights as the user has them too
//   wino    as any, Winograd's algorithm asked for
// and for 16-bit tensors each of them with "f32-" in front: an FP32 primitive, to and from which the reorders convert.
std::unique_ptr<Implementation> MakeOneDnn(int threads);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_PEERS_ONEDNN_H_
