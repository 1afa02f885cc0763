// SPDX-License-Identifier: Apache-2.0
// Backward data: with weights as the lanes,
//   products[output pixel][input channel, tap] = sum over output channels of
//       output[output channel][pixel] * weight[output channel][input channel, tap]
// reads every weight once, where it stands. The products of a few input channels are then transposed, so that pixels
// lie side by side, and added, tap by tap, to where they belong: planes of sums wide enough for every tap, of which
// the padding is not stored. Where the kernel covers the input, products are results and written where they belong.
// With BF16 dot products a term of the sum is a pair of output channels.
#ifndef CANOPY_CONV_WEIGHT_LANES_DATA_STEP_H_
#define CANOPY_CONV_WEIGHT_LANES_DATA_STEP_H_

#include <string>

#include "base/checked_math.h"
#include "conv/algorithm.h"
#include "conv/packing/common_numbers.h"
#include "conv/weight_lanes/blocks.h"
#include "conv/weight_lanes/shifts.h"

namespace canopy::conv::weight_lanes {

// One thread's working memory.
struct DataScratch {
  const float* output = nullptr;  // channels side by side, unless they are multiplied where they stand
  float* weights;                 // [term][lane]: a copied panel, or a block where weights must be converted
  float* products;                // [image][position][lane]
  float* turned;                  // [tap, input channel of a unit][position]
  float* sums;                    // [input channel of a unit][...]
  float* line;
  int64_t* result_offsets;  // of every output pixel among the products
  int64_t* turned_offsets;  // of every lane of a unit
  int64_t* sum_offsets;     // of every row of `turned`
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

  double Estimate(const ConvProblem& problem) const;
  int64_t Terms(int64_t channels) const { return dot_rate_ > 0 ? base::CeilDiv(channels, int64_t{2}) : channels; }
  bool paired() const { return dot_rate_ > 0; }
  int64_t a_term() const { return dot_rate_ > 0 ? 2 : 1; }  // output channels
  // Of an image's products.
  int64_t positions() const { return summed_ ? 1 : base::RoundUp(shifts_.run, 16); }
  int64_t sum_floats() const { return base::RoundUp(shifts_.floats(), 4); }  // of a channel
  int64_t OutputParts() const;                                               // that a group's output is copied in
  DataScratch ScratchAt(char* at, int64_t* bytes) const;

  static constexpr int64_t kTermsAPart = 32;

  Shifts shifts_;
  double dot_rate_ = 0;  // 0: FP32 multiply-adds
  bool summed_ = false;  // the products of an image are its sums
  bool whole_ = false;   // and these its result
  bool weighs_ = false;  // of one pixel in all, which weighs rows of weights
  int64_t batch_ = 0, pixels_ = 0, taps_ = 1;
  int64_t output_channels_ = 0;  // of a group
  Blocks blocks_;
  int64_t chunk_ = 1;              // output channels of a product
  int64_t unit_ = 1;               // input channels whose products are transposed together
  packing::CommonNumbers output_;  // channels side by side
  int scratch_handle_ = -1;
  double work_ = 0;
};

}  // namespace canopy::conv::weight_lanes

#endif  // CANOPY_CONV_WEIGHT_LANES_DATA_STEP_H_
