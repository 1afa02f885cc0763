// SPDX-License-Identifier: Apache-2.0
// From the tensors to transformed tiles, piece by piece: a panel of channels of a slice of a band, transposed in the
// cache and transformed tile by tile.
#ifndef CANOPY_CONV_WINOGRAD_WEIGHTS_PIECES_H_
#define CANOPY_CONV_WINOGRAD_WEIGHTS_PIECES_H_

#include "conv/tensor_lines.h"
#include "conv/winograd/weights_step.h"

namespace canopy::conv::winograd {

struct WeightsBlock {
  int64_t index, group, first_input, inputs;  // channels of the group
  int64_t lanes;                              // number of its lane block
};

// Bands [begin, end).
struct WeightsChunk {
  int64_t begin, end;
};

// Which panels of a block wait to be transformed: what the blocks before left there is not transformed again.
struct WaitingPanels {
  int64_t inputs, outputs;
};

class WeightsPieces {
 public:
  // `biases`: sums of [band, slice][output channel], unless that is nullptr.
  WeightsPieces(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers, double* biases)
      : s_(step),
        cut_(step.cut_),
        p_(problem),
        input_(buffers.input, p_.input.dtype, p_.rule),
        output_(buffers.output, p_.output.dtype, p_.rule),
        biases_(biases) {}

  int64_t Count(const WeightsChunk& chunk, const WaitingPanels& panels) const {
    return InputCount(chunk, panels) + OutputCount(chunk, panels);
  }

  // Piece `index` of the chunk, one that its band does not have is none. They come panel by panel, and in as many
  // shares as there are threads, each of a share of the inputs and of the outputs.
  void Transform(const WeightsBlock& block, const WeightsChunk& chunk, const WaitingPanels& panels, int64_t threads,
                 int64_t index, const WeightsTiles& tiles, const WeightsScratch& scratch) const;

 private:
  struct Piece;

  int64_t InputCount(const WeightsChunk& chunk, const WaitingPanels& panels) const {
    return (chunk.end - chunk.begin) * panels.inputs * s_.InputSlots(cut_);
  }
  int64_t OutputCount(const WeightsChunk& chunk, const WaitingPanels& panels) const {
    return (chunk.end - chunk.begin) * panels.outputs * s_.OutputSlots(cut_);
  }

  void Number(int64_t inputs, int64_t outputs, int64_t threads, int64_t index, int64_t bands, Piece* piece) const;
  bool Find(const WeightsBlock& block, const TileBand& band, Piece* piece) const;
  void TakePixels(const TileBand& band, Piece* piece) const;
  int64_t Pixels(const Piece& piece, int kind) const;
  void ListPixels(const Piece& piece, const WeightsScratch& scratch) const;
  void AddBiases(const Piece& piece, int64_t band, const float* slab_at) const;

  const WeightsStep& s_;
  const WeightsCut& cut_;
  const ConvProblem& p_;
  LineReader input_, output_;
  double* biases_;
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_WEIGHTS_PIECES_H_
