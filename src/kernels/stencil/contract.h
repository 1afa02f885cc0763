// SPDX-License-Identifier: Apache-2.0
// The stencil, the inner loop of convolutions whose lanes do not mix. Every element below is a vector of `lanes` floats
// and every step is in floats:
//   result[p*result_position + r*result_row] (+)= sum over columns j, sum over 0 <= t < taps of
//       taps[columns[j].tap + t*tap_row] * source[columns[j].source + p*source_position + (r + t)*source_row],
//   0 <= p < positions, 0 <= r < rows
// Terms are added in the order of (j, t) with one fused multiply-add each, where the instruction set has it, into one
// accumulator an element, started at 0; where `accumulate`, the sum is added to the result last. So every kernel of the
// same `taps` gives the same bits for the same element.
//
// A source row serves up to `taps` result rows and is loaded once for all of them: rows * at_once accumulators, the
// column's taps and a source vector stay in registers. No tails: `positions` is a multiple of `at_once`. Any alignment,
// though vectors that straddle cache lines cost twice. column_count may be 0.
//
// A tap is a vector, or, for the kernels of `broadcast`, one float that all lanes share.
#ifndef CANOPY_KERNELS_STENCIL_CONTRACT_H_
#define CANOPY_KERNELS_STENCIL_CONTRACT_H_

#include <cstdint>

namespace canopy::kernels {

struct StencilColumn {
  int64_t source;
  int64_t tap;
};

struct StencilCall {
  const float* source;
  int64_t source_row, source_position;
  const float* taps;
  int64_t tap_row;
  const StencilColumn* columns;
  int64_t column_count;
  float* result;
  int64_t result_row, result_position;
  int64_t positions;
  bool accumulate;
};

using StencilFn = void (*)(const StencilCall& call);

inline constexpr int kMostStencilRows = 8;
inline constexpr int kMostStencilTaps = 8;

// Kernels of one number of rows, for 1 to kMostStencilTaps taps.
struct StencilRows {
  int rows;
  int at_once;                                // positions
  int most_taps;                              // what the registers hold
  StencilFn vectors[kMostStencilTaps + 1];    // by taps
  StencilFn broadcast[kMostStencilTaps + 1];  // by taps
};

struct StencilKernels {
  int lanes;
  const StencilRows* rows;  // more than one entry for the same number of rows differ in at_once
  int count;
  const char* target;  // the instruction set's name

  // Lines into lanes: to[i*lanes + l] = lines[l][i], 0 <= i < count, 0 <= l < lanes. `to` is aligned to 64 bytes, lines
  // have any alignment; nothing past their `count` elements is read.
  void (*to_lanes)(const float* const* lines, int64_t count, float* to);

  // And back, the first `valid` lanes: lines[l][i] = from[i*lanes + l], 0 <= l < valid.
  void (*from_lanes)(const float* from, int64_t count, int64_t valid, float* const* lines);
};

inline constexpr int kMostLanes = 16;

// The kernels for the best instruction set that this processor has.
const StencilKernels& Stencils();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_STENCIL_CONTRACT_H_
