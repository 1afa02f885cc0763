// SPDX-License-Identifier: Apache-2.0
// A product of FP32 numbers by Intel's matrix unit (AMX), which multiplies BF16 only: every number is split into a sum
// of BF16 numbers, its parts, and these are multiplied.
//   c[r][l] (+)= sum over terms k of a[r][k] * b[k][l]
// A number x is x0 + x1 + x2, each part the BF16 number next to what those before it leave. FP32 has 24 significant
// bits, so three parts are x itself, and two are what has 17 bits or fewer (HF32, FP16). Of the products of parts i and
// j those with i + j < 3 are added, all of two parts; what is left out of three is below 2^-23 of |a| * |b| and
// about 2^-28 of it on average. Sums are FP32: of 32 terms from zero on, then added to what there is.
//
// That holds where the smallest part is a normal number: where |x| >= 2^-102 or x is 0. Parts below 2^-126 count as 0.
// Inf, and what is above BF16's greatest number, gives NaN wherever it is a term. Callers look for both: the packing
// functions return all bits of what they read, or-ed, and a NaN stays one.
//
// Operands are packed in panels of 16 rows of a, or 16 lanes of b, in blocks of 32 terms: what is missing is 0.
#ifndef CANOPY_KERNELS_SPLIT_GEMM_CONTRACT_H_
#define CANOPY_KERNELS_SPLIT_GEMM_CONTRACT_H_

#include <cstdint>

#include "kernels/convert/forms.h"

namespace canopy::kernels {

inline constexpr int kSplitSide = 16;   // rows or lanes of a panel
inline constexpr int kSplitTerms = 32;  // of a block

// Floats of a panel's block.
constexpr int64_t SplitBlockFloats(int parts) { return int64_t{kSplitTerms} / 2 * kSplitSide * parts; }

// Packs a panel of up to 16 rows, or lanes, from `count` lines of `length` numbers each, `step` apart. A line is along
// the terms, of one row or lane each, or across them, of one term each, and then its numbers may be `apart` from one
// another. They are FP32, and rounded to HF32 with 11 bits where `rounds`. Reads nothing else; block after block is
// written to_step floats apart, aligned to 64 bytes. Returns the bits of all numbers, or-ed.
struct SplitLines {
  const float* from;
  int64_t step, count, length;
  int64_t to_step;
  int64_t apart = 1;
  bool rounds = false;
};
using SplitPackFn = uint32_t (*)(const SplitLines& lines, float* to);

// Packs a panel of up to 16 rows, each `length` terms from from + offsets[row] on, likewise.
struct SplitRows {
  const float* from;
  const int64_t* offsets;
  int64_t count, length;
  int64_t to_step;
};
using SplitPackRowsFn = uint32_t (*)(const SplitRows& rows, float* to);

// Numbers of a line that stand in pieces, 16 at a time: bit i of a piece's `numbers` says that number i is element
// from + i * apart of every line, with the same `from` for all lines. A number in no piece is 0.
struct SplitPiece {
  int64_t from;
  uint32_t numbers;
};

// Lines of elements that stand in pieces, `step` apart: the pieces of numbers 16 * g and on are pieces[first[g]] to
// pieces[first[g + 1] - 1]. `apart` is 1 or 2, `form` any but kBFloat16 and kOther. Reads nothing else than
// numbers in pieces. Returns the bits of all numbers, or-ed.
//   across: up to 32 lines are a block's terms, and every 16 numbers a panel's lanes
//   along: up to 16 lines are a panel's rows, or lanes, and every 32 numbers a block's terms
// Panels, or blocks, are to_step floats apart.
struct SplitPieces {
  convert::Form form;
  const void* from;
  int64_t step, count, apart;
  int64_t groups;  // of 16 numbers
  const SplitPiece* pieces;
  const int32_t* first;
  int64_t to_step;
};
using SplitPackPiecesFn = uint32_t (*)(const SplitPieces& lines, float* to);

// All panels of rows times all of lanes over up to kSplitBlocks blocks of terms, each of which stands on its own: its
// panels one after another. c has its rows c_step floats apart; all 16 of each panel are written. The kernel reads a
// once for every two panels of lanes, which are in the L1 meanwhile, so a should be in the L2.
inline constexpr int kSplitBlocks = 4;
struct SplitOperands {
  const float *a[kSplitBlocks], *b[kSplitBlocks];
  int64_t row_panels, lane_panels;
  int64_t blocks;  // 1 to kSplitBlocks
  float* c;
  int64_t c_step;
  // What later calls read, brought to the L2 meanwhile: SplitAskedLines(parts) lines of 64 bytes from each address on,
  // of which there are SplitAsks(...), any that will do; or nullptr.
  const void* const* asks = nullptr;
};
// Of two parts there are fewer products to ask beside.
constexpr int SplitAskedLines(int parts) { return parts == 2 ? 6 : 4; }
constexpr int64_t SplitAsks(int64_t row_panels, int64_t lane_panels, int64_t blocks, int parts) {
  return ((row_panels + 1) / 2) * ((lane_panels + 1) / 2) * blocks * parts * 2;
}
using SplitMultiplyFn = void (*)(const SplitOperands& operands, bool accumulate);

struct SplitKernels {
  SplitPackFn rows_along, rows_across, lanes_along, lanes_across;
  SplitPackRowsFn rows_at;
  SplitPackPiecesFn pieces_of_rows_along, pieces_of_lanes_along, pieces_of_lanes_across;
  SplitMultiplyFn multiply;
};

// For numbers of two or three parts; nullptr where the processor has no such unit.
const SplitKernels* SplitGemm(int parts);

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_SPLIT_GEMM_CONTRACT_H_
