// SPDX-License-Identifier: Apache-2.0
// From a job's sums to where results of forward and backward data belong.
#ifndef CANOPY_CONV_SPLIT_GEMM_DATA_RESULTS_H_
#define CANOPY_CONV_SPLIT_GEMM_DATA_RESULTS_H_

#include <cstdint>

#include "conv/problem.h"
#include "conv/split_gemm/blocks.h"
#include "conv/split_gemm/data_step.h"
#include "conv/split_gemm/losses.h"
#include "conv/tensor_lines.h"

namespace canopy::conv::split_gemm {

// Channels of the tensor, and pixels of a comb's phases.
struct JobResults {
  int64_t first_channel, channels;
  int64_t first_pixel, pixels;
};

class DataResults {
 public:
  DataResults(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, Losses* losses)
      : s_(step),
        p_(problem),
        b_(buffers),
        product_(step.product_),
        result_(product_.Result(buffers), product_.result.dtype, problem.rule.saturate),
        losses_(losses) {}

  // The sums of all phases of the comb, plus the bias; the packed rows are not needed any more.
  void Store(const DataStep::Comb& comb, const JobResults& where, const JobScratch& scratch) const;

  // Of results that no tap reaches: the bias or 0.
  void Fill(const DataStep::Comb& comb, const JobResults& where, const JobScratch& scratch) const;

 private:
  void StoreChannelLines(const DataStep::Comb& comb, const JobResults& where, const JobScratch& scratch) const;
  void StoreApart(const DataStep::Comb& comb, const JobResults& where, const JobScratch& scratch) const;
  void CopyRows(int64_t channels, int64_t stretches, const JobScratch& scratch, float* direct) const;
  int64_t BuildStretches(const DataStep::Comb& comb, const JobResults& where, kernels::Segment* stretches) const;
  int64_t RowOffset(const DataStep::Comb& comb, int64_t row) const;

  const DataStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  const ActivationProduct& product_;
  LineWriter result_;
  Losses* losses_;
};

}  // namespace canopy::conv::split_gemm

#endif  // CANOPY_CONV_SPLIT_GEMM_DATA_RESULTS_H_
