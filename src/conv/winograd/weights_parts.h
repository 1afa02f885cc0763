// SPDX-License-Identifier: Apache-2.0
// A point's products of tiles in parts, for all channels of a block: rows are input channels, lanes output channels and
// terms tiles.
#ifndef CANOPY_CONV_WINOGRAD_WEIGHTS_PARTS_H_
#define CANOPY_CONV_WINOGRAD_WEIGHTS_PARTS_H_

#include <cstdint>

#include "conv/split_gemm/losses.h"
#include "conv/winograd/products.h"
#include "kernels/gather_gemm/contract.h"

namespace canopy::conv::winograd {

// Panels of channels side by side, tile after tile.
struct TilePanels {
  const float* first;
  int64_t to_next;         // panel
  int64_t channels, each;  // of all panels, and of one
  int64_t width;           // from tile to tile: `each`, rounded up to 16
};

// Blocks of tiles that are taken apart before they are multiplied: sums are then read and written as seldom.
inline constexpr int64_t kPartsBlocks = 8;

// One thread's working memory, aligned to 64 bytes.
struct PartsScratch {
  float *rows, *lanes;  // [block of kernels::kSplitTerms tiles][16 channels], kPartsBlocks blocks
  float* lines;         // a panel's tiles, copied where they do not follow one another
};

struct PartsProduct {
  TilePanels inputs, outputs;
  // Which tiles meet: a and b are floats from the panels' first ones.
  const kernels::GatherRun* runs;
  int64_t run_count;
  // [input panel][output panel][input channel][output channel]: from pair to pair, and from row to row of pairs.
  float* products;
  int64_t to_next_pair, to_next_row;
};

// Adds the products where `accumulate`. Whole panels of 16 channels are written, of input channels up to the width of
// the inputs' panels, as rows of the outputs' width.
void MultiplyInParts(const PartsProduct& product, bool accumulate, const PartsScratch& scratch,
                     split_gemm::Losses* losses);

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_WEIGHTS_PARTS_H_
