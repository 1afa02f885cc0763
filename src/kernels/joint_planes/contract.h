// SPDX-License-Identifier: Apache-2.0
// Both gradients of a depthwise convolution at once: every vector of output gradients that is loaded is multiplied
// twice, by a weight for the input's gradient and by the input for the weight's. Lanes are neighbouring pixels.
#ifndef CANOPY_KERNELS_JOINT_PLANES_CONTRACT_H_
#define CANOPY_KERNELS_JOINT_PLANES_CONTRACT_H_

#include <cstdint>

#include "kernels/convert/forms.h"

namespace canopy::kernels {

// What a kernel asks memory for while it multiplies: see Ahead in kernels/planes/contract.h. It moves on by `step`
// bytes with each vector of a row and begins anew with each plane n: for plane n + distance of the call's, which are
// `plane` bytes apart from `from` on, or of the `next` ones if the call has not so many. The addresses need not be
// valid.
struct JointAhead {
  const char *from = nullptr, *next = nullptr;
  int64_t step = 0, plane = 0;

  const char* Of(int64_t n, int64_t distance, int64_t planes) const {
    return n + distance < planes ? from + (n + distance) * plane : next + (n + distance - planes) * plane;
  }
};

// A plane's first row's first element, and how far to the next plane's, next row's: in elements of T, bytes where it is
// char.
template <class T>
struct JointRows {
  T* first;
  int64_t plane, row;
};

// Every element below is a vector of `lanes` floats but for the arguments, which are in floats; in memory x and results
// have the form that the kernels were asked for. With
//   g(n, y, v, r, s) = g.first[n*g.plane + (y - r)*g.row + v*lanes - s],
// 0 <= n < planes, 0 <= y < rows, 0 <= v < vectors, 0 <= r < the kernel's rows, 0 <= s < its columns,
//   result[n, y, v] = before[n, y, v] + sum over r, s of taps[n*taps_plane + r*taps_row + s*taps_column]
//                                                           * g(n, y, v, r, s)                    where it gives data,
//   sums[n*sums_plane + r*sums_row + s*sums_column] += sum over y, v of x[n, y, v] * g(n, y, v, r, s)
//                                                                                              where it gives weights.
// A tap is one float that all lanes share. Terms of results are added from the last r to the first, by s, with one
// fused multiply-add each, where the instruction set has it, to 0 or what was `before`. Of the last vector of each row
// only `last_lanes` are read of x, zeros instead of the others, and stored of results, unless that is 0.
struct JointCall {
  JointRows<const char> g;  // FP32, but of the form's type for kernels that find its edges
  JointRows<const char> x;
  JointRows<const float> before;
  JointRows<char> result;
  int64_t planes, rows, vectors;
  int last_lanes;
  const float* taps;
  int64_t taps_plane, taps_row, taps_column;
  float* sums;
  int64_t sums_plane, sums_row, sums_column;
  JointAhead ahead[3];  // the last one's is written
  int64_t distance;     // of what is asked for, in planes
  bool above, below;    // for narrow kernels: whether g has a row before the first, behind the last
  float* bias;          // for those that find g's edges, a float for each plane; or nullptr
  bool streamed;        // results are written past the caches
  bool adds;            // to FP32 results, which are not `streamed`, instead of to 0, where there is no `before`
  bool even_rows, even_columns;  // for doubled kernels: meet most of the kernel's; or else odd ones
  int64_t x_rows;                // likewise: that exist, from the first on
  // For doubled and rolling kernels: rows and columns of g that exist, from those that position 0 meets first.
  int64_t g_top, g_bottom, g_left, g_right;
  int64_t g_counted;  // likewise: the first row that `bias` counts
  float* room;        // for rolling ones, if they give weights: JointRoom aligned vectors
};
using JointFn = void (*)(const JointCall& call);

// A kernel of pairs serves columns with a stride of 2 under three kernel columns: x and results have 2*lanes floats for
// each v, even and odd columns in turn. Vectors of those of one parity, P, meet the kernel columns 0 and 2 under
// g(n, y, v, r, 0) and g(n, y, v, r, 1), vectors of the others the kernel column 1 under the former where P are the
// even ones, else under the latter. last_lanes then counts floats of x, and there is no `before`.

// A doubled kernel serves as many rows as columns, three or five, with a stride of 2 for both. Each of `rows` stands
// for two rows of x and results, of which the second of the last may not exist, each of `vectors` for 2*lanes of their
// columns, and last_lanes counts floats of x. With m = (size - 1) / 2, one of a position's two rows meets the kernel's
// rows 0, 2 ... 2*m under g(n, y, v, 0, s), g(n, y, v, 1, s) ... g(n, y, v, m, s). Where that is the even one, the odd
// one meets the rows 1, 3 ... under the same but the last, or else the even one meets these under the same but the
// first. Columns likewise. There is no `before`. g has the type of the form that the kernel was asked for, without
// zeros around it, and is rounded as the form says; bias[n] gets the sum of what it was before, from the row g_counted
// on, of the columns before position 0 and of all positions.

// A rolling kernel serves as many rows as columns over a g of the form's type, without zeros around it, which it
// rounds as the form says. A plane's taps follow one another, and so do their sums. There is no `before`. One that
// gives data, or is listed beside one that gives both, adds the sum of what g was before, from the row g_counted on, to
// bias[n]. Of one that gives data alone, terms of a row's last result, where there is an odd number of `vectors`, are
// added in two sums, of even and of odd s. What is asked for moves on by the greatest step of the three.

// Where they are `streamed` (kernels/streams.h), results are FP32 and begin with a line. A kernel of pairs has rows of
// whole lines, a doubled one likewise, or rows that follow one another, no more than kMostGatheredFloats in a plane,
// that together are whole lines; a rolling one has such rows. A narrow kernel has rows that follow one another, of
// which kJointNarrowRows are whole lines; the last rows, if they are fewer, are written as ever.

// A narrow kernel serves three rows and columns over rows of one vector of a g of no more rows and columns than x,
// without zeros around it. g has the type of the form that the kernel was asked for, which it rounds as the form says.
// The middle row and column meet a position's own gradient, and what is not there is 0:
//   g(n, y, v, r, s) = g.first[n*g.plane + (y + 1 - r)*g.row + 1 - s].
// bias[n] gets the sum of what g was before, over the plane's positions. last_lanes is that of whole vectors too, and
// there is no `before`. With `below` the rows are a multiple of kJointNarrowRows; with neither `above` nor `below`
// there are more than these.
//
// A folded kernel is a narrow one of as many rows as columns, an odd number from 3 on, whose middle ones meet a
// position's own gradient, over planes of no more than kMostFoldedColumns and of kMostFoldedRows, or one less, of which
// g has as many as x:
//   g(n, y, v, r, s) = g.first[n*g.plane + (y + rows / 2 - r)*g.row + columns / 2 - s].
// It gives whole planes, whose rows lie equally far apart in all tensors; a plane's taps follow one another, and so do
// their sums. It asks for memory with every second row.
inline constexpr int kJointNarrowRows = 4;
inline constexpr int kMostFoldedRows = 8, kMostFoldedColumns = 8;
inline constexpr int kMostGatheredFloats = 4096;

inline constexpr int kMostJointRows = 7;
inline constexpr int kMostJointColumns = 12;
inline constexpr int kMostJointPairRows = 3;

// Vectors of JointCall::room.
constexpr int64_t JointRoom(int64_t rows, int64_t kernel_rows) {
  const int64_t around = kernel_rows - 1;
  return 2 * (rows + 2 * around) + 3 * (rows + around);
}

enum JointResults { kJointBoth, kJointData, kJointWeights };

struct JointKernels {
  int lanes;
  bool tails;          // the last vector of a row may be less than whole
  bool shifts;         // of several columns only the first is loaded, with the vector before it
  const char* target;  // the instruction set's name

  // By JointResults, rows and columns, nullptr where the registers do not hold so many, or where the form has none.
  // Those of FP32 for one gradient are there up to most_columns; for both, one after the other serves.
  JointFn kernels[3][kMostJointRows + 1][kMostJointColumns + 1];
  int most_columns[kMostJointRows + 1];                       // by rows
  int at_once[3][kMostJointRows + 1][kMostJointColumns + 1];  // rows of a plane

  // By JointResults, rows, and whether even columns meet two kernel columns; nullptr without AVX2 or masks, where
  // registers do not hold so many, or where the form has none.
  JointFn pairs[3][kMostJointPairRows + 1][2];

  // By JointResults; nullptr where lanes cannot be moved from place to place.
  JointFn narrow[3];

  // By JointResults and rows; nullptr likewise.
  JointFn folded[3][kMostJointRows + 1];

  // By JointResults and rows; nullptr where there are no tails or too few registers, and for both at once of five.
  JointFn doubled[3][kMostJointRows + 1];

  // By JointResults and rows; nullptr where lanes cannot be moved or registers are few, and for both at once of more
  // than three.
  JointFn rolling[3][kMostJointRows + 1];
};

// Where kernels of so many columns shift, g(n, y, v, 0, 0) is best a whole line; a vector before it is read, too.
inline constexpr int kFewestShiftedColumns = 3;

// A form of 16 bits has kernels of so few rows and columns, without `before`; one that is rounded when it is read has
// those that read x.
inline constexpr int kMostHalfOffsets = 3, kMostHalfPairRows = 2;

// The kernels for the best instruction set that this processor has. REQUIRES: not kOther.
const JointKernels& JointPlanes(convert::Form form = convert::Form::kFloat32);

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_JOINT_PLANES_CONTRACT_H_
