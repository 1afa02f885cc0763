// SPDX-License-Identifier: Apache-2.0
// Both gradients of a convolution along one axis whose columns, an input channel and a tap each, are few:
//   products[column][output pixel] = sum over output channels of weight[output channel][column] * output[...][pixel]
//   sums[output channel][column] = sum over output pixels of output[output channel][pixel] * slab[pixel under column]
// Each product reads all of output, which is many times as large as everything else, and takes less time than memory
// does. So output is cut into blocks of some channels by some pixels that stay in the L2: the first product brings a
// block there, the second finds it. Products of a piece of a row are kept until all channels are in, and then added to
// the input pixels that they belong to. Lanes are pixels in both, and nothing is transposed.
#ifndef CANOPY_CONV_JOINT_COLUMNS_STEP_H_
#define CANOPY_CONV_JOINT_COLUMNS_STEP_H_

#include <string>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "conv/packing/dot_tiles.h"
#include "conv/packing/tap_slab.h"
#include "kernels/dots/contract.h"
#include "kernels/gather_gemm/contract.h"

namespace canopy::conv::joint_columns {

// Of the input under a piece of output.
int64_t SlabFloats(const Geometry& geometry);

// Some output pixels of an image, and what they decide of its gradient.
struct Piece {
  int64_t image;
  int64_t begin, end;  // pixels; each is in one piece
  int64_t first;       // pixel, at or before `begin`: from here on they reach the piece's input positions
  int64_t low, high;   // input positions
  int64_t origin;      // input position under the first pixel's first tap; may be negative
};

// One thread's working memory.
struct JointScratch {
  float* slab;           // [input channel][residue][position]
  float* line;           // of the input, and of its gradient
  float* block;          // [output channel][pixel], where output is not finite
  float* ends;           // [output channel][lane]: pixels that fill no vector, then zeros
  float* products;       // [column][pixel from the piece's first]
  float* sums;           // [output channel of a block][column, then output itself] vectors of lanes
  float* reduced;        // likewise, of numbers
  float* phases;         // of the gradient: [input channel][residue][position]
  int64_t* tap_offsets;  // in the slab
  int64_t* sum_offsets;  // in the phases
};

class JointStep : public Step {
 public:
  JointStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class JointRun;

  void Cut(const Geometry& geometry);
  double CountWork(const ConvProblem& problem) const;
  JointScratch ScratchAt(char* at, int64_t* bytes) const;

  Piece PieceAt(const Geometry& geometry, int64_t index) const;
  int64_t pieces(const Geometry& g) const { return g.batch * base::CeilDiv(g.output_size[2], piece_); }
  int64_t results() const { return columns_ + (bias_ ? 1 : 0); }  // of an output channel
  int64_t partial_floats() const { return outputs_ * results(); }
  // Of the columns' sums for so many output channels.
  packing::DotTiles TilesOf(int64_t rows) const { return {kernels::Dots(), rows, columns_, bias_}; }
  int64_t panel_lanes() const { return tiles_.tiles[vectors_ - 1].lanes; }

  bool bias_;  // its gradient too
  kernels::GatherTilesList tiles_;
  int64_t inputs_ = 0, outputs_ = 0, columns_ = 0;
  int vectors_ = 1;                // of a panel of pixels
  int64_t lanes_ = 1;              // of a vector
  int64_t reach_ = 0;              // pixels that reach input positions of later pixels
  int64_t piece_ = 1, strip_ = 1;  // output pixels of a piece, and of a block
  int64_t chunk_ = 1;              // output channels of a block
  int64_t block_pitch_ = 0, product_pitch_ = 0, phase_floats_ = 0;
  int64_t jobs_ = 1;
  packing::TapSlab slab_;
  int scratch_handle_ = -1, packed_handle_ = -1, partial_handle_ = -1, flag_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::joint_columns

#endif  // CANOPY_CONV_JOINT_COLUMNS_STEP_H_
