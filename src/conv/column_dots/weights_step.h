// SPDX-License-Identifier: Apache-2.0
// Backward weights as dot products along pixels:
//   result[output channel][column] = sum over output pixels of output[output channel][pixel] * slab[pixel under column]
// where a column is an input channel and a tap. Of the input under a strip of output a padded slab is made, in which
// every column is a shift. Output is read where it stands, a few channels and a piece of the strip at a time, by all
// columns, while memory is asked for the next piece. Lanes are pixels, of BF16 pairs of them: so vectors are full
// however few the columns are, nothing is transposed, and their lanes are added up at the end. The first columns'
// products sum output for the bias gradient, too; where output is rounded, what was just read is summed apart.
#ifndef CANOPY_CONV_COLUMN_DOTS_WEIGHTS_STEP_H_
#define CANOPY_CONV_COLUMN_DOTS_WEIGHTS_STEP_H_

#include <string>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "conv/packing/strips.h"
#include "conv/packing/tap_slab.h"
#include "kernels/dots/contract.h"

namespace canopy::conv::column_dots {

// The problem with a plane's pixels in one line, where a kernel of one offset over the same pixels, which lie side by
// side, leaves no rows to tell apart; any other as it is.
ConvProblem InLines(const ConvProblem& problem);

// Of the input under a strip of output pixels, of all channels of a group.
int64_t SlabFloats(const Geometry& geometry);

// One thread's working memory.
struct WeightsScratch {
  void* slab;     // of floats or BF16 patterns
  float* line;    // of the input; floats only
  void* rows;     // [output channel of a tile][line of a piece][pixel] like the slab's, where output, or the end of a
                  // line, is not read in place
  float* sums;    // [output channel][column, then output itself if it is summed, too] vectors of lanes
  float* biases;  // [output channel], where they are summed apart
  int64_t* tap_offsets;  // of the columns in the slab
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

  void Cut(const Geometry& geometry);
  double CountWork(const ConvProblem& problem) const;

  bool summing() const { return bias_ && !sums_; }                     // output, with the dot products
  int64_t sum_vectors() const { return taps_ + (summing() ? 1 : 0); }  // of sums of an output channel
  bool pairs() const { return dot_rate_ > 0; }                         // are multiplied
  // Whether the end of a line is multiplied where it stands.
  bool masks() const { return pairs() ? kernels::PairDots().masks : kernels::Dots().masks; }
  int64_t vector_pixels() const { return lanes_ * (pairs() ? 2 : 1); }
  // What is read behind a line: whole vectors.
  int64_t slab_elements() const { return inputs_ * slab_.channel_floats() + 2 * vector_pixels(); }
  int64_t strip_pieces() const {  // of a tile of output channels
    return base::CeilDiv(strips_.columns(), piece_pixels_) * base::CeilDiv(strips_.rows(), piece_lines_);
  }
  int64_t line_elements() const { return base::RoundUp(piece_pixels_, vector_pixels()); }
  int64_t results() const { return taps_ + (bias_ ? 1 : 0); }  // of an output channel
  int64_t jobs(int64_t groups) const { return groups * output_blocks_; }
  WeightsScratch ScratchAt(char* at, int64_t* bytes) const;

  bool bias_;           // its gradient too
  bool sums_ = false;   // that is summed apart
  bool zeros_ = false;  // are multiplied
  double dot_rate_;     // of vectors of BF16 pairs; 0: floats are multiplied
  int64_t lanes_ = 1;
  int64_t inputs_ = 0, outputs_ = 0, taps_ = 0;  // channels of a group; columns
  packing::Strips strips_;                       // each has a slab
  packing::TapSlab slab_;
  int64_t piece_lines_ = 1, piece_pixels_ = 1;  // of a strip: a product's terms; pixels of a line
  int64_t rows_ = 1;                            // output channels of a tile
  int64_t output_block_ = 1, output_blocks_ = 0;
  int64_t segments_ = 1;
  int scratch_handle_ = -1, partial_handle_ = -1, flag_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::column_dots

#endif  // CANOPY_CONV_COLUMN_DOTS_WEIGHTS_STEP_H_
