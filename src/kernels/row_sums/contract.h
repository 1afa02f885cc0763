// SPDX-License-Identifier: Apache-2.0
// Sums over many planes of pixels and a few taps, whose lanes are neighbouring pixels, for results of few channels:
//   result[c*result_channel + r*result_row + l] += sum over 0 <= k < sources, 0 <= j < columns, 0 <= i < taps of
//       weights[((k*columns + j)*taps + i)*channels + c] * source[k*source_channel + (r + i)*source_row + j + l]
// for the kernel's channels, rows and taps and 0 <= l < lanes. Rows r + i outside [row_begin, row_end) are absent: they
// are not read, and have no terms. So are columns j + l outside [lane_begin, lane_end), but that weights are multiplied
// by 0 there. Terms are added in the order of (k, j, r + i) with one fused multiply-add each, where the instruction set
// has it, to a sum started at 0, which is added to the result last. Sources are of the type of the form that the kernel
// was asked for, and rounded as it says. Any alignment.
#ifndef CANOPY_KERNELS_ROW_SUMS_CONTRACT_H_
#define CANOPY_KERNELS_ROW_SUMS_CONTRACT_H_

#include <cstdint>

#include "kernels/convert/forms.h"

namespace canopy::kernels {

struct RowSumsCall {
  const void* source;
  int64_t source_channel, source_row;  // in elements
  int64_t sources, columns;
  const float* weights;
  float* result;
  int64_t result_channel, result_row;
  int64_t row_begin, row_end;    // kernels for edges only; the others take all rows as present
  int64_t lane_begin, lane_end;  // kernels for edges and sides only
  // What later calls read, brought to the cache meanwhile: a vector a source and row, apart like the source's, and the
  // next one of each. Memory may leave a request unheard, so that calls of neighbouring vectors ask for each twice.
  // A hint: any address will do.
  const void* ahead;
  bool asks;  // whether it is brought
};

using RowSumsFn = void (*)(const RowSumsCall& call);

struct RowSumKernels {
  static constexpr int kMostChannels = 4, kMostTaps = 3;
  int lanes;
  bool masks;                                                 // kernels for sides and edges read as fast as the others
  const char* target;                                         // the instruction set's name
  int rows[kMostChannels + 1], most_taps[kMostChannels + 1];  // by channels
  RowSumsFn inside[kMostChannels + 1][kMostTaps + 1];         // by channels and taps
  RowSumsFn sides[kMostChannels + 1][kMostTaps + 1];
  RowSumsFn edge[kMostChannels + 1][kMostTaps + 1];
};

// The kernels for the best instruction set that this processor has. REQUIRES: not kOther.
const RowSumKernels& RowSums(convert::Form form = convert::Form::kFloat32);

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_ROW_SUMS_CONTRACT_H_
