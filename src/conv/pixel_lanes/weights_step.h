// SPDX-License-Identifier: Apache-2.0
// Weight gradients where a group has few channels. The planes of a group are copied into sheets, in which every tap is
// a constant shift of one flat index: rows share the zeros between them, images follow one another where planes are
// small, and bands of rows stay in the cache where they are large. With a stride, the input's rows and columns of each
// residue are a sheet of their own. Every weight is then a dot product
//   sum over positions of output[result channel][position] * input[source channel][position + shift of tap],
// of which a tile of some result channels by some pairs of source channel and tap keeps its sums in registers. BF16
// stays BF16 in sheets, whose pairs of positions are multiplied, where vectors' dot products are fast. Bias
// gradients, if wanted too, are sums of the sheets, where these are not rounded.
#ifndef CANOPY_CONV_PIXEL_LANES_WEIGHTS_STEP_H_
#define CANOPY_CONV_PIXEL_LANES_WEIGHTS_STEP_H_

#include <string>
#include <vector>

#include "conv/algorithm.h"
#include "kernels/dots/contract.h"
#include "kernels/streams.h"

namespace canopy::conv::pixel_lanes {

// Where kernel offsets meet the input along one axis: output position o meets position o + shift of a residue.
struct WeightTaps {
  struct Tap {
    int64_t residue, shift;
  };

  WeightTaps() = default;
  WeightTaps(const Geometry& geometry, int axis);

  // Of the input's positions with a residue modulo the stride.
  int64_t Count(int64_t residue) const { return (size - residue + stride - 1) / stride; }

  std::vector<Tap> taps;
  int64_t size = 0, stride = 1;
  int64_t least = 0, greatest = 0;  // shifts
  int64_t pitch = 0;                // from one row of positions to the next, with the zeros that they share
};

// Weights whose sums are in registers together, and the share of the next sheet's planes that is asked for meanwhile:
// part `part` of `parts` of one of the output's and of one of the input's.
struct WeightTile {
  struct Share {
    int64_t plane, part, parts;
  };

  int64_t row, column;  // the first: result channel; source channel and tap
  int64_t rows, columns;
  Share shares[2];
};

class WeightsStep : public Step {
 public:
  WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  template <class T>
  friend class WeightsRun;

  bool pairs() const { return dot_rate_ > 0; }  // are multiplied
  int64_t vector_positions() const { return lanes_ * (pairs() ? 2 : 1); }
  int64_t LineElements() const { return kernels::kMemoryLineFloats * (pairs() ? 2 : 1); }  // of sheets
  void Cut(const Geometry& geometry);
  void ShareOut(const Geometry& geometry);
  void ListOffsets();
  void ListTiles(int64_t taps);
  double CountWork(const ConvProblem& problem) const;

  // Of a sheet with so many images or rows.
  int64_t Positions(int64_t images, int64_t rows) const {
    return (images - 1) * image_pitch_ + (rows - 1) * columns_.pitch + output_columns_;
  }
  int64_t ResidueSheets() const { return rows_.stride * columns_.stride; }

  bool bias_;
  WeightTaps rows_, columns_;
  double dot_rate_;  // of vectors of BF16 pairs; 0: floats are multiplied
  int64_t lanes_ = 1;
  int64_t sources_ = 0, results_ = 0;  // channels of a group
  int64_t output_columns_ = 0;
  int64_t images_ = 1, band_ = 1;  // of a sheet: several images, or output rows of one
  int64_t image_pitch_ = 0;
  int64_t image_blocks_ = 0, bands_ = 0;
  int64_t output_elements_ = 0, input_elements_ = 0;  // of a sheet of one channel (and residue)
  int64_t left_ = 0;                                  // elements before the input's first
  std::vector<int64_t> offsets_;  // of the input under position 0, by source channel and tap, as weights lie
  std::vector<WeightTile> tiles_;
  int64_t items_ = 0, segments_ = 1;  // sheets of a group, and the sums that they are shared out to
  int64_t sums_floats_ = 0, line_floats_ = 0;
  int partial_handle_ = -1, scratch_handle_ = -1, flag_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::pixel_lanes

#endif  // CANOPY_CONV_PIXEL_LANES_WEIGHTS_STEP_H_
