// SPDX-License-Identifier: Apache-2.0
// Forward and backward data of a 1x1 kernel: result[channel][pixel] = sum over source channels of
// weight[channel][source channel] * source[source channel][pixel]. Pixels are the lanes, those of small planes in one
// row through all images; neither tensor is transposed, and plain results are written where they belong. Backward data
// with a stride computes the pixels that something reaches and puts zeros between them as it stores.
#ifndef CANOPY_CONV_POINTWISE_DATA_STEP_H_
#define CANOPY_CONV_POINTWISE_DATA_STEP_H_

#include <string>

#include "conv/algorithm.h"
#include "conv/channel_lanes/weight_panels.h"
#include "conv/pointwise/planes.h"
#include "kernels/gather_gemm/contract.h"

namespace canopy::conv::pointwise {

// One thread's working memory.
struct DataScratch {
  float* weights;  // [row panel][source channel][row], unless packed for all jobs
  float* pixels;   // [source channel][pixel]: one panel
  float* results;  // [result channel][pixel of the piece]: what is not written where it belongs
  float* line;     // a row of the result, with a stride
  channel_lanes::SlabScratch lines;
  int64_t* weight_offsets;
  int64_t* result_offsets;
};

class DataStep : public Step {
 public:
  DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class DataRun;

  void CutPixels(const Geometry& geometry);
  double Estimate(const Geometry& geometry) const;
  int64_t lanes() const { return tiles_[vectors_ - 1].lanes; }
  int64_t rows() const { return tiles_[vectors_ - 1].most_rows; }
  // Pixels of a piece, in whole tiles.
  int64_t piece_lanes() const { return base::RoundUp(pieces_.pixels, lanes()); }
  DataScratch ScratchAt(char* at, int64_t* bytes) const;

  bool forward_;
  bool direct_;   // whole panels of results are written where they belong
  bool strided_;  // results are input pixels, of which only some are reached
  Operand source_, result_;
  int64_t source_channels_ = 0, result_channels_ = 0;  // of a group
  int64_t plane_ = 0;                                  // source pixels of an image
  int64_t result_row_ = 0;                             // pixels of one, with a stride
  channel_lanes::WeightView weight_;
  const kernels::GatherTiles* tiles_;  // by vectors, from 1
  int vectors_;
  int64_t chunk_ = 1;               // source channels packed at a time
  int64_t panel_ = 1;               // pixels packed at a time: a few tiles side by side
  int64_t block_ = 1, blocks_ = 0;  // result channels of a job
  Pieces pieces_;                   // of planes, or of all images' pixels in one row
  int64_t scratch_bytes_ = 0;
  int scratch_handle_ = -1, weights_handle_ = -1;  // the latter where weights are packed for all jobs
  double work_ = 0;
};

}  // namespace canopy::conv::pointwise

#endif  // CANOPY_CONV_POINTWISE_DATA_STEP_H_
