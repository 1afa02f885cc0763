// SPDX-License-Identifier: Apache-2.0
// Backward data by way of the columns (input channel, tap) of the weight matrix:
//   products[column][output pixel] = sum over output channels of weight[output channel][column] * output[...][pixel]
// and every product is then added to the one input pixel that it belongs to. Pixels are the lanes, so that vectors and
// tiles are full however few the input channels are; output is read where it stands, once a block of columns. With BF16
// dot products a term of the sum is a pair of output channels.
#ifndef CANOPY_CONV_COLUMNS_DATA_STEP_H_
#define CANOPY_CONV_COLUMNS_DATA_STEP_H_

#include <string>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "conv/columns/pieces.h"
#include "kernels/gather_gemm/contract.h"

namespace canopy::conv::columns {

// One thread's working memory.
struct DataScratch {
  float* pixels;           // [term][lane]: one panel
  int64_t* pixel_offsets;  // of output channels there
  float* products;         // [panel][column][lane]: one panel, or all of a piece where chunks are added up
  float* sums;  // [input channel][depth][row][phase of the last axis][position]: the rows that some tap reaches; then
                // a row of zeros and one for what falls outside
  float* line;  // one row of sums, its phases interleaved
  int64_t* sum_offsets;  // of each kernel row
  int64_t* result_offsets;
};

class DataStep : public Step {
 public:
  DataStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger);

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override;
  std::string Describe() const override;
  double Work() const override { return work_; }

 private:
  friend class DataRun;

  void Cut(const Geometry& geometry);
  void CountWork(const ConvProblem& problem);
  int64_t SumFloats() const;
  int64_t columns() const { return block_ * taps_; }  // of a job
  int64_t lanes() const { return tiles_.tiles[vectors_ - 1].lanes; }
  int64_t rows() const { return tiles_.tiles[vectors_ - 1].most_rows; }
  int64_t row_panels(int64_t columns) const { return base::CeilDiv(columns, rows()); }
  int64_t PackedFloats() const { return row_panels(columns()) * rows() * Terms(output_channels_); }  // of a block
  int64_t a_term() const { return dot_rate_ > 0 ? 2 : 1; }                                           // output channels
  int64_t Terms(int64_t channels) const { return base::CeilDiv(channels, a_term()); }
  bool chunked() const { return chunk_ < output_channels_; }
  DataScratch ScratchAt(char* at, int64_t* bytes) const;

  int64_t input_channels_ = 0, output_channels_ = 0, taps_ = 1;  // channels of a group
  bool transposes_;                                              // output: its channels lie side by side
  double dot_rate_ = 0;                                          // 0: FP32 multiply-adds
  kernels::GatherTilesList tiles_;
  int vectors_ = 1;
  int64_t block_ = 1, blocks_ = 0;  // input channels of a job
  int64_t chunk_ = 1;               // output channels of a product
  int64_t panel_ = 1;               // pixels of a product: a few tiles side by side
  Pieces pieces_;
  int64_t phase_floats_ = 0, row_floats_ = 0;  // of the sums
  int scratch_handle_ = -1, packed_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::columns

#endif  // CANOPY_CONV_COLUMNS_DATA_STEP_H_
