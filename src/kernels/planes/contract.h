// SPDX-License-Identifier: Apache-2.0
// Planes of pixels: rows between tensors and sheets padded with zeros, and the sums of a kernel's weight gradient over
// a sheet. Lanes are neighbouring pixels of a row.
#ifndef CANOPY_KERNELS_PLANES_CONTRACT_H_
#define CANOPY_KERNELS_PLANES_CONTRACT_H_

#include <cstdint>

#include "kernels/convert/forms.h"

namespace canopy::kernels {

// `rows` rows of `count` elements. Steps are in elements.
struct PlaneRows {
  const void* from;
  int64_t from_row;
  void* to;
  int64_t to_row;
  int64_t rows, count;
};

// What a kernel asks memory for while it multiplies. Requests in a burst, between kernels, are dropped by processors or
// wait for one another; spread out among multiply-adds they hide nearly all of the time that planes take to come from
// the last-level cache. The addresses need not be valid.
struct Ahead {
  const char* read = nullptr;
  const char* write = nullptr;            // of what is to be written, or, for kernels that write nothing, read too
  int64_t read_step = 0, write_step = 0;  // bytes that a step of the kernel moves on by
};

// Every element below is a vector of `lanes` floats but for the arguments, which are in floats:
//   result[a*result_row + v*lanes] (+)= sum over 0 <= j < columns, 0 <= i < taps of
//       taps[i*tap_row + j*tap_column] * source[(a + i)*source_row + v*lanes + j],
//   0 <= a < blocks * the kernel's rows, 0 <= v < vectors; a tap is one float that all lanes share.
// Terms are added in the order of (j, i) with one fused multiply-add each, where the instruction set has it, to a sum
// started at 0; where `accumulate`, the sum is added to the result last. Of the last vector of each row only
// `last_lanes` are stored unless that is 0. REQUIRES: 0 where `accumulate`.
struct PlaneStencilCall {
  const float* source;
  int64_t source_row;
  const float* taps;
  int64_t tap_row, tap_column, columns;
  float* result;
  int64_t result_row;
  int64_t blocks, vectors;
  int last_lanes;
  bool accumulate;
  Ahead ahead;  // a step for each column of `at_once` vectors of a block, or of one left over, in which `ahead_lines`
                // lines are asked for
  int64_t ahead_lines;
};
using PlaneStencilFn = void (*)(const PlaneStencilCall& call);

inline constexpr int kMostPlaneRows = 8;
inline constexpr int kMostPlaneTaps = 8;

// Every element below is a vector of `lanes` floats but for the arguments, which are in floats:
//   sums[r*sums_row + s*sums_column] += sum over 0 <= v < vectors, 0 <= y < rows of
//       x[y*x_row + v*lanes + s] * g[(y - r)*g_row + v*lanes],   0 <= r < the kernel's rows, 0 <= s < its columns.
// Kernels keep a fixed number of sums of each element, by y, and add them in a fixed order. Any alignment, though
// vectors that straddle cache lines cost twice.
struct PlaneSumsCall {
  const float* x;
  int64_t x_row;
  const float* g;
  int64_t g_row;
  int64_t rows, vectors;
  float* sums;
  int64_t sums_row, sums_column;
  Ahead ahead;  // a step for each v and y
};
using PlaneSumsFn = void (*)(const PlaneSumsCall& call);

inline constexpr int kMostSumsRows = 7;
inline constexpr int kMostSumsColumns = 8;

struct PlaneKernels {
  int lanes;
  const char* target;  // the instruction set's name

  // The tensor's side of these, from which `place` and `split` read and to which `take` and `mesh` write, is in one of
  // the forms that they are indexed by; the other side is floats.

  // to[r*to_row + i] = from[r*from_row + i]; row after row, zeros up to the last vector's end behind each.
  void (*place[convert::kForms])(const PlaneRows& rows);

  // The same without the zeros: nothing else is written.
  void (*take[convert::kForms])(const PlaneRows& rows);

  // to[r*to_row + i] = from[r*from_row + 2*i], odd[r*to_row + i] = from[r*from_row + 2*i + 1] for the `count` elements
  // of a row of `from`; zeros up to the last vectors' ends behind each.
  void (*split[convert::kForms])(const PlaneRows& rows, float* odd);

  // to[r*to_row + 2*i] = from[r*from_row + i], to[r*to_row + 2*i + 1] = odd[r*from_row + i] for the `count` elements of
  // a row of `to`. Reads whole vectors and writes nothing else.
  void (*mesh[convert::kForms])(const PlaneRows& rows, const float* odd);

  // sums[i] = the sum of the lanes of vector i, 0 <= i < count, by a fixed tree.
  void (*reduce)(const float* vectors, int64_t count, float* sums);

  // By rows and columns, nullptr where the registers do not hold so many sums.
  PlaneSumsFn sums[kMostSumsRows + 1][kMostSumsColumns + 1];
  int most_columns[kMostSumsRows + 1];  // by rows

  // By rows and taps, nullptr for rows that there are no kernels of.
  PlaneStencilFn stencils[kMostPlaneRows + 1][kMostPlaneTaps + 1];
  int at_once[kMostPlaneRows + 1];  // vectors, by rows
};

// The kernels for the best instruction set that this processor has.
const PlaneKernels& Planes();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_PLANES_CONTRACT_H_
