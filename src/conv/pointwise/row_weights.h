// SPDX-License-Identifier: Apache-2.0
// The weights of DataStep's products: a panel of rows, which are result channels, for each tile of them.
#ifndef CANOPY_CONV_POINTWISE_ROW_WEIGHTS_H_
#define CANOPY_CONV_POINTWISE_ROW_WEIGHTS_H_

#include <cstdint>

#include "conv/packing/row_panels.h"
#include "conv/pair_reader.h"
#include "conv/pointwise/data_step.h"
#include "conv/tensor_lines.h"

namespace canopy::conv::pointwise {

struct DataBlock {
  int64_t group, first, channels;  // result channels of the group
  packing::RowPanels panels;       // that they are cut into
};

class RowWeights {
 public:
  RowWeights(const DataStep& step, const ConvProblem& problem, const Buffers& buffers)
      : s_(step),
        p_(problem),
        weight_(buffers.weight, problem.weight.dtype, problem.rule),
        pairs_(buffers.weight, problem.weight.dtype, problem.rule) {}

  // Of a block and chunk: packed, or where they stand, in lines of all result channels a term.
  struct Panels {
    const float* first;
    int64_t row;   // from panel to panel, for each row of the first
    int64_t line;  // from term to term; 0: as long as a panel has rows
  };

  // Those of the chunk from source channel `c` on. They are packed here, into the scratch, where that has none.
  Panels Of(const DataBlock& block, int64_t c, const DataScratch& scratch) const;
  // to[panel of rows][term][row]
  void Pack(const DataBlock& block, int64_t c, const DataScratch& scratch, float* to) const;
  // Of a block's chunk among all weights, packed.
  int64_t PackedOffset(const DataBlock& block, int64_t c) const;

 private:
  int64_t WeightOffset(const DataBlock& block, int64_t c) const;
  void PackRuns(const DataBlock& block, int64_t offset, int64_t sources, float* to) const;
  void PackPairs(const packing::WeightBlock& rows, const DataScratch& scratch, float* packed) const;

  const DataStep& s_;
  const ConvProblem& p_;
  LineReader weight_;
  PairReader pairs_;  // with dot products
};

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_ROW_WEIGHTS_H_
