// SPDX-License-Identifier: Apache-2.0
// From the weights to transformed kernels of a data gradient or forward: kKernelChunk source channels of a panel of
// result channels are packed, then transformed to every point, phase and term.
#ifndef CANOPY_CONV_WINOGRAD_DATA_KERNELS_H_
#define CANOPY_CONV_WINOGRAD_DATA_KERNELS_H_

#include <algorithm>
#include <cstdint>

#include "conv/packing/weight_panels.h"
#include "conv/tensor_lines.h"
#include "conv/winograd/data_lister.h"
#include "conv/winograd/data_step.h"

namespace canopy::conv::winograd {

class DataKernels {
 public:
  DataKernels(const DataStep& step, const ConvProblem& problem, const Buffers& buffers)
      : s_(step),
        t_(step.tiling_),
        lists_(step),
        p_(problem),
        weight_(buffers.weight, problem.weight.dtype, problem.rule) {}

  // All phases of the source channels from `source`, among the unit's kernels at `to`.
  void MakeChunk(int64_t unit, int64_t source, const DataScratch& scratch, float* to) const;

  // The chunk's weights, and a tap of zeros behind them.
  void Pack(int64_t unit, int64_t source, const DataScratch& scratch, float* packed) const;

  // From there to row `row` of every point and term, for phases [first, end), while `next` are asked for.
  void Transform(int64_t panel, int64_t source, const float* packed, int64_t row, int64_t first, int64_t end, float* to,
                 packing::WeightRuns next) const;

  // Where a chunk's weights lie; behind a unit's last, those of the next unit.
  packing::WeightRuns Runs(int64_t unit, int64_t source) const;

  // Asks for `runs`, as much of them as `done` is of `all`.
  void Ask(packing::WeightRuns* runs, int64_t done, int64_t all) const { runs->Prefetch(weight_, done, all); }

 private:
  int64_t Sources(int64_t source) const { return std::min(kKernelChunk, s_.source_channels_ - source); }
  packing::WeightBlock Block(int64_t unit, int64_t source) const;

  const DataStep& s_;
  const Tiling& t_;
  DataLister lists_;
  const ConvProblem& p_;
  LineReader weight_;
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_DATA_KERNELS_H_
