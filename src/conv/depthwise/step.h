// SPDX-License-Identifier: Apache-2.0
// Few channels a group: groups (and images, where there are few groups) are lanes, so that every vector operation does
// useful work however small the maps or the kernels. Planes are turned into slabs of lanes piece by piece, in cache.
#ifndef CANOPY_CONV_DEPTHWISE_STEP_H_
#define CANOPY_CONV_DEPTHWISE_STEP_H_

#include <string>

#include "conv/algorithm.h"
#include "conv/depthwise/axis_order.h"
#include "conv/depthwise/lanes.h"
#include "plan/workspace_ledger.h"

namespace canopy::conv::depthwise {

// What both kinds of step share: pieces of the tensor that is cut (the result of forward and backward data, the taps of
// backward weights), the slabs that a thread needs for one piece, and who the lanes are.
class PieceLayout {
 public:
  PieceLayout() = default;
  PieceLayout(const ConvProblem& problem, Computation computation);

  int64_t pieces() const { return counts_[0] * counts_[1] * counts_[2]; }
  // Coordinates of the cut tensor, and the source that they read.
  Box Piece(int64_t index) const;
  Box SourceBox(const Box& piece) const;
  SlabShape SourceShape(const Box& piece) const;
  SlabShape PieceShape(const Box& piece) const;

  bool cut_results() const { return cut_results_; }
  const LawLists& laws() const { return laws_; }
  bool gaps() const { return gaps_; }
  bool empty() const { return empty_; }
  // Whether the margins hold zeros that a kernel multiplies.
  bool margins() const { return margins_; }
  const OrderChoice& choice() const { return choice_; }
  const RowKernels& kernels() const { return kernels_; }
  const sheets::LaneLayout& lanes() const { return lanes_; }
  int64_t vector_lanes() const { return vector_lanes_; }
  int64_t source_channels() const { return source_channels_; }
  int64_t piece_channels() const { return piece_channels_; }
  int64_t source_floats() const { return source_floats_; }
  int64_t piece_floats() const { return piece_floats_; }
  // Of turning both tensors into lanes or back, in vector multiply-adds at the peak rate.
  double copy_work() const { return copy_work_; }
  std::string Describe() const;

 private:
  void ChoosePieces(int64_t least_pieces);
  bool Halve(int axis);
  int64_t EstimatedBytes() const;
  void CountFloats();

  LawLists laws_;
  bool cut_results_ = true, gaps_ = false, empty_ = false, margins_ = false;
  OrderChoice choice_;
  RowKernels kernels_;
  sheets::LaneLayout lanes_;
  int64_t vector_lanes_ = 1;
  int64_t source_channels_ = 1, piece_channels_ = 1;  // of a group
  Extent3 extent_{}, part_{}, counts_{};              // of the cut tensor
  int64_t source_floats_ = 0, piece_floats_ = 0;      // the most of any piece
  double copy_work_ = 0;
};

// One thread's memory, and where it lies.
struct ThreadScratch {
  float* source;
  float* piece;
  float* lines;
  kernels::StencilColumn* columns;
};

class ThreadLayout {
 public:
  ThreadLayout() = default;
  ThreadLayout(const PieceLayout& layout, plan::WorkspaceLedger* ledger);
  ThreadScratch At(const plan::WorkspaceLedger& ledger, void* workspace, int worker) const;

 private:
  int64_t source_ = 0, piece_ = 0, lines_ = 0;  // bytes
  int handle_ = -1;
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

  bool forward_;
  PieceLayout layout_;
  ThreadLayout threads_;
  int64_t packed_floats_ = 0;  // weights of one group block
  int packed_handle_ = -1, flags_handle_ = -1;
  double work_ = 0;
};

class WeightsStep : public Step {
 public:
  WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger);
  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class WeightsRun;

  PieceLayout layout_;
  ThreadLayout threads_;
  SlabShape result_shape_;     // of one pair of channels
  int64_t result_floats_ = 0;  // all pairs of a lane block
  int64_t items_ = 0, segments_ = 1;
  int sums_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::depthwise

#endif  // CANOPY_CONV_DEPTHWISE_STEP_H_
