// SPDX-License-Identifier: Apache-2.0
// Backward weights of a 1x1 kernel: result[row][lane] = sum over pixels of rows[row][pixel] * lanes[lane][pixel]. Of
// the two tensors only the one whose channels are lanes is transposed, piece by piece; the other is read where it
// stands. An unfolded input is the one that is transposed. With BF16 dot products a term of the sum is a pair of
// neighbouring pixels; 0 completes the last of an image's piece. Bias gradients are summed beside (bias_sums.h).
#ifndef CANOPY_CONV_POINTWISE_WEIGHTS_STEP_H_
#define CANOPY_CONV_POINTWISE_WEIGHTS_STEP_H_

#include <string>

#include "conv/algorithm.h"
#include "conv/packing/common_numbers.h"
#include "conv/packing/lane_panels.h"
#include "conv/packing/planes.h"
#include "conv/packing/slab.h"
#include "conv/pointwise/unfolded.h"

namespace canopy::conv::pointwise {

// One thread's working memory.
struct WeightsScratch {
  const float* all_lanes = nullptr;  // slabs of all jobs, where there is one piece
  float* lanes;                      // a slab in panels, else
  float* rows;                       // copies of rows, where they cannot be read in place
  float* sums;                       // [row][lane], where they are no partial ones
  float* tiles;                      // sums of later runs of pieces, likewise
  packing::SlabScratch lines;
  int64_t* row_offsets;
  int64_t* result_offsets;
  kernels::GatherRun* runs;  // images of a piece
};

class WeightsStep : public Step {
 public:
  // Weight gradients, or these and bias gradients.
  WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return cut_.work + bias_work_; }

 private:
  friend class WeightsRun;

  // How the work is cut, and what that costs.
  struct Cut {
    bool outputs_are_lanes = true;
    packing::LanePanels panels;
    int64_t row_channels = 0, block = 1, blocks = 0;  // of a group; of a job; jobs along them
    int64_t segments = 1, segment_pieces = 0;
    double work = 0;

    int64_t jobs(int64_t groups) const { return groups * blocks * panels.blocks(); }
    int64_t tiles_floats() const { return block * panels.block_lanes(); }
  };

  struct LaneSizes {
    int64_t most, wide;  // channels of a block, about; vectors of a panel
  };

  template <class Visit>
  void ForCuts(const Geometry& geometry, int64_t least_rows, const Visit& visit) const;
  Cut ChooseCut(const Geometry& geometry) const;
  void ShareOut(const Geometry& geometry);
  double Time(const Cut& cut, int64_t groups) const;  // of a cut, until the last of the threads is done
  int64_t SizeOf(const Cut& cut, int64_t block, int64_t segment) const;  // of a job, beside others
  // Whether threads take whole segments of all blocks, for these are not alike, but segments are.
  bool BySegments(const Cut& cut) const;
  // Work of a cut, and what threads wait for one another where jobs are few.
  static double WithWaiting(const Cut& cut, int64_t groups);
  Cut MakeCut(const Geometry& geometry, bool outputs_are_lanes, int64_t most_rows, const LaneSizes& lanes) const;
  int64_t a_term() const { return dot_rate_ > 0 ? 2 : 1; }  // pixels
  // From row to row where rows are copied a tile at a time: those do not crowd a set of the cache.
  int64_t copied_stride() const { return images_ * Terms(pieces_.pixels) + 16; }
  int64_t Terms(int64_t pixels) const { return base::CeilDiv(pixels, a_term()); }
  int64_t SlabFloats() const { return images_ * Terms(pieces_.pixels) * cut_.panels.block_lanes(); }
  double LaneWork() const;  // of transposing one element
  WeightsScratch ScratchAt(char* at, int64_t* bytes) const;

  // Whether biases are sums of lanes, else of rows.
  bool BiasesAreLanes() const { return bias_ && bias_from_output_ == cut_.outputs_are_lanes; }

  bool bias_ = false, bias_from_output_ = false;
  int64_t most_partial_bytes_ = 0;
  double bias_work_ = 0;
  double dot_rate_ = 0;                               // 0: FP32 multiply-adds
  int64_t input_channels_ = 0, output_channels_ = 0;  // of a group, unfolded
  bool rows_in_place_ = false;                        // read where they stand
  bool crowded_ = false;                              // but for tiles of many rows, whose lines share a set
  bool unfolded_ = false;                             // the input is
  Unfolded input_;
  int64_t batch_ = 0;
  int64_t images_ = 1;      // of a piece: several small planes, or a part of one
  packing::Pieces pieces_;  // of every images_-th plane
  Cut cut_;
  packing::CommonNumbers lanes_;  // where there is one piece, whose slabs several blocks of rows meet
  int scratch_handle_ = -1, partial_handle_ = -1, bias_handle_ = -1;
};

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_WEIGHTS_STEP_H_
