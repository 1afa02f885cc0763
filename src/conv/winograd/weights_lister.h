// SPDX-License-Identifier: Apache-2.0
// Which tiles of a chunk meet, as lists of sums: the terms of a weight gradient's products.
#ifndef CANOPY_CONV_WINOGRAD_WEIGHTS_LISTER_H_
#define CANOPY_CONV_WINOGRAD_WEIGHTS_LISTER_H_

#include <cstdint>

#include "conv/winograd/weights_pieces.h"
#include "conv/winograd/weights_step.h"

namespace canopy::conv::winograd {

class WeightsLister {
 public:
  explicit WeightsLister(const WeightsStep& step) : s_(step), cut_(step.cut_) {}

  // Of every depth of the kernel, and every choice of kinds of tiles to leave out.
  void List(const WeightsChunk& chunk, const WeightsTiles& tiles) const;

 private:
  template <class F>
  void EachRun(const WeightsChunk& chunk, int64_t depth, int without, const F& visit) const;
  void ListSums(const WeightsChunk& chunk, int64_t depth, int without, const WeightsTiles& tiles) const;

  const WeightsStep& s_;
  const WeightsCut& cut_;
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_WEIGHTS_LISTER_H_
