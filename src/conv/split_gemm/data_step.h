// SPDX-License-Identifier: Apache-2.0
// Forward and backward data as conv/activation_product.h has them, rows result channels and lanes pixels. A block of
// terms is 32 source channels under one tap; the taps of the same channels follow one another, and those that reach
// none of a job's pixels are left out. A job packs what it multiplies itself, but for weights that several jobs read:
// those are packed for all of them before, if there is room. With a stride it computes all phases of some rows of
// pixels, and writes whole rows.
#ifndef CANOPY_CONV_SPLIT_GEMM_DATA_STEP_H_
#define CANOPY_CONV_SPLIT_GEMM_DATA_STEP_H_

#include <array>
#include <string>
#include <vector>

#include "conv/activation_product.h"
#include "conv/algorithm.h"
#include "conv/channel_lanes/data_step.h"
#include "conv/packing/common_numbers.h"
#include "conv/split_gemm/blocks.h"
#include "conv/streams.h"

namespace canopy::conv::split_gemm {

class DataStep : public Step {
 public:
  DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class DataResults;
  friend class DataRun;

  struct Phase : PhaseTriple {
    int64_t packed = 0;  // floats from the group's weights, where those are packed before
  };

  // Rows of results with the same remainders of depth and height: their phases by the remainder of width, -1 where no
  // tap reaches those. All phases have as many pixels a row, some of the last of which do not exist.
  struct Comb {
    std::array<int64_t, 3> walk{}, first{};  // of results; `first` are the remainders
    std::vector<int> phases;
    int64_t rows_below = 0;  // without taps, up to the next row; all phases but the one here have none then, either
    int64_t pixels = 0;      // of a phase, batch included
    int64_t first_job = 0;   // within the group
  };

  void MakeCombs(const Geometry& geometry);
  void JoinEmptyRows(const ConvProblem& problem);
  double TapsReached(const Comb& comb, const Phase& phase) const;
  double Estimate(const ConvProblem& problem) const;
  int64_t Chunks() const;     // of source channels: blocks of a tap
  int64_t RowPanels() const;  // of a group
  int64_t RowBlocks() const;  // likewise: jobs with the same pixels
  int64_t JobPixels() const { return cut_.lane_panels * kernels::kSplitSide; }

  ActivationProduct product_;
  int parts_;
  const kernels::SplitKernels& kernels_;
  std::vector<Phase> phases_;
  std::vector<Comb> combs_;
  Extent3 result_step_{1, 1, 1};  // between results of a comb
  Cut cut_;
  int64_t jobs_ = 0;           // of a group
  int64_t packed_floats_ = 0;  // a group's weights
  double packed_bytes_ = 0;    // all groups'
  StreamedRows streamed_;
  double work_ = 0;
  packing::CommonNumbers weights_;
  int losses_handle_ = -1, taps_handle_ = -1;
  ScratchLayout scratch_;
  channel_lanes::DataStep direct_;  // for what parts cannot express
};

}  // namespace canopy::conv::split_gemm

#endif  // CANOPY_CONV_SPLIT_GEMM_DATA_STEP_H_
