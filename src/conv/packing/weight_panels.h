// SPDX-License-Identifier: Apache-2.0
// Weights as the vector operand: packed[tap][source channel][result channel], whatever their layout; for dot products
// with pairs of source channels.
#ifndef CANOPY_CONV_PACKING_WEIGHT_PANELS_H_
#define CANOPY_CONV_PACKING_WEIGHT_PANELS_H_

#include <cstdint>

#include "conv/packing/slab.h"
#include "conv/pair_reader.h"
#include "conv/problem.h"
#include "conv/tensor_lines.h"

namespace canopy::conv::packing {

// How a computation sees the weights: elements between result channels, source channels and taps.
struct WeightView {
  enum class Runs {
    kResultChannels,  // lie side by side
    kSourceAndTaps,   // all taps of all source channels of a result channel lie side by side
    kTaps,            // all taps of a pair of channels lie side by side
    kSourceChannels,  // lie side by side
    kNone
  };

  WeightView() = default;
  WeightView(const ConvProblem& problem, bool forward);

  int64_t TapOffset(int64_t tap) const {
    return tap / (kernel[1] * kernel[2]) * tap_strides[0] + tap / kernel[2] % kernel[1] * tap_strides[1] +
           tap % kernel[2] * tap_strides[2];
  }

  // Whether the weights of `results` result channels, source channel after source channel, are one matrix of taps by
  // the rest.
  bool IsOneMatrix(int64_t results) const {
    return result_stride == taps && source_stride == results * taps && (runs == Runs::kTaps || taps == 1);
  }

  Extent3 kernel{1, 1, 1}, tap_strides{};
  int64_t taps = 1;
  int64_t result_stride = 0, source_stride = 0;
  Runs runs = Runs::kNone;
};

// A block of them: `sources` source channels by `results` result channels, from element `offset`.
struct WeightBlock {
  int64_t offset, sources, results;
  int64_t lanes;        // from source channel to source channel in the packed block; at least `results`
  int64_t tap_gap = 0;  // behind a tap's last source channel, where the next tap would crowd the cache

  int64_t tap_step() const { return sources * lanes + tap_gap; }
};

// The runs of memory that hold a block: asked for while something else is computed, a share at a time.
struct WeightRuns {
  WeightRuns() = default;
  WeightRuns(const WeightView& view, const WeightBlock& block);

  // Asks for what is due after `done` of `all` steps, each of which asks.
  void Prefetch(const LineReader& reader, int64_t done, int64_t all) {
    if (asked == count) return;
    for (const int64_t due = done * count / all; asked < due; ++asked) reader.Prefetch(offset + asked * stride, length);
  }

  int64_t offset = 0, count = 0, stride = 0, length = 0;
  int64_t asked = 0;
};

// Fills packed[tap * block.tap_step() + source * block.lanes + result]; what lies between results and lanes is left as
// it is. `offsets` holds taps * sources entries, for use inside.
void PackWeights(const LineReader& reader, const WeightView& view, const WeightBlock& block, const SlabScratch& scratch,
                 int64_t* offsets, float* packed);

// Likewise with pairs of source channels, in BF16: packed[(tap * pairs + pair) * block.lanes + result]; 0 completes the
// last pair. `packed` has room for single channels and their gaps, and pairs have none.
// REQUIRES: block.lanes is a multiple of 16; both readers read the same weights.
void PackWeightPairs(const LineReader& reader, const PairReader& pairs, const WeightView& view,
                     const WeightBlock& block, const SlabScratch& scratch, int64_t* offsets, float* packed);

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_WEIGHT_PANELS_H_
