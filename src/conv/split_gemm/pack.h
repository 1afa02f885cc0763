// SPDX-License-Identifier: Apache-2.0
// Panels packed from where their numbers stand, by way of a copy where those must be converted, and requests for these.
#ifndef CANOPY_CONV_SPLIT_GEMM_PACK_H_
#define CANOPY_CONV_SPLIT_GEMM_PACK_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "conv/problem.h"
#include "conv/split_gemm/blocks.h"
#include "conv/tensor_lines.h"
#include "kernels/split_gemm/contract.h"

namespace canopy::conv::split_gemm {

// Whether elements are FP32 numbers that kernels read where they stand, and whether they are rounded then.
inline bool Rounds(const LineReader& reader) { return reader.form() == kernels::convert::Form::kHfloat32x11; }
inline bool ReadsFloats(const LineReader& reader) {
  return Rounds(reader) || reader.form() == kernels::convert::Form::kFloat32;
}

// Elements offset + side * side_step + term * term_step of up to 16 rows or lanes and 32 terms.
struct Grid {
  int64_t offset;
  int64_t side_step, sides;
  int64_t term_step, terms;
};

// `along` and `across` pack rows, or lanes. `copy` has room for 16 numbers of each term and slack. Returns the bits of
// all numbers, or-ed.
inline uint32_t PackGrid(const LineReader& reader, const Grid& grid, kernels::SplitPackFn along,
                         kernels::SplitPackFn across, float* copy, float* to) {
  constexpr int64_t kFurthest = std::numeric_limits<int32_t>::max() / kernels::kSplitSide;
  constexpr int64_t kOneBlock = 0;  // and no step to others
  if (ReadsFloats(reader)) {
    const bool rounds = Rounds(reader);
    const float* from = static_cast<const float*>(reader.Address(grid.offset));
    if (grid.term_step == 1) {
      return along({from, grid.side_step, grid.sides, grid.terms, kOneBlock, 1, rounds}, to);
    }
    if (grid.side_step > 0 && grid.side_step <= kFurthest) {
      return across({from, grid.term_step, grid.terms, grid.sides, kOneBlock, grid.side_step, rounds}, to);
    }
  }
  if (grid.term_step == 1) {
    reader.CopyRows(grid.offset, grid.side_step, grid.sides, grid.terms, copy, grid.terms);
    return along({copy, grid.terms, grid.sides, grid.terms, kOneBlock}, to);
  }
  if (grid.side_step == 1) {
    reader.CopyRows(grid.offset, grid.term_step, grid.terms, grid.sides, copy, grid.sides);
  } else {
    reader.FetchGrid(grid.offset, grid.term_step, grid.terms, grid.side_step, grid.sides, copy);
  }
  return across({copy, grid.sides, grid.terms, grid.sides, kOneBlock}, to);
}

// Whether channels lie side by side and pixels, pixel_step apart, do not: a line is a pixel then.
inline bool ChannelLines(const Operand& operand, int64_t pixel_step) {
  return operand.strides[1] == 1 && pixel_step != 1;
}

// Adds to the list what `count` segments are of lines first, first + 1, ..., the channels of a tensor.
inline void AskForLines(const LineReader& reader, const Operand& operand, int64_t first, int64_t lines,
                        const kernels::Segment* segments, int64_t count, int64_t apart, AskList* list) {
  for (int64_t line = first; line < first + lines; ++line) {
    for (int64_t s = 0; s < count; ++s) {
      list->Add(reader.Address(line * operand.strides[1] + segments[s].source),
                ((segments[s].count - 1) * apart + 1) * reader.element_bytes());
    }
  }
}

// Whether kernels read lines of elements so far apart in pieces.
inline constexpr int64_t kMostApart = 2;
inline bool ReadsPieces(const LineReader& reader, int64_t apart) {
  using kernels::convert::Form;
  return (apart == 1 || apart == kMostApart) && reader.form() != Form::kBFloat16 && reader.form() != Form::kOther;
}

// The segments of a line of lanes, panel by panel: what kernels::SplitPieces reads.
inline void CutIntoPieces(const kernels::Segment* segments, int64_t count, int64_t lanes, int64_t apart,
                          kernels::SplitPiece* pieces, int32_t* first) {
  int32_t made = 0;
  int64_t s = 0;
  for (int64_t lane = 0; lane < lanes; lane += kernels::kSplitSide) {
    *first++ = made;
    const int64_t end = std::min<int64_t>(lane + kernels::kSplitSide, lanes);
    for (; s < count; ++s) {
      const kernels::Segment& in = segments[s];
      const int64_t low = std::max<int64_t>(lane, in.begin) - lane,
                    high = std::min<int64_t>(end, in.begin + in.count) - lane;
      if (low < high) {
        pieces[made++] = {in.source + (lane - in.begin) * apart, (1u << high) - (1u << low)};
      }
      if (in.begin + in.count > end) break;
    }
  }
  *first = made;
}

}  // namespace canopy::conv::split_gemm

#endif  // CANOPY_CONV_SPLIT_GEMM_PACK_H_
