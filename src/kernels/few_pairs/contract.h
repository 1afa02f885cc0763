// SPDX-License-Identifier: Apache-2.0
// Products of pairs of an input and an output pixel that are listed one by one, kernel offset by kernel offset: for
// problems so small that any other order takes longer to set up than to multiply. An input pixel's channels, a row of
// kFewPairsLanes floats, are the lanes; an output pixel's are read one at a time.
#ifndef CANOPY_KERNELS_FEW_PAIRS_CONTRACT_H_
#define CANOPY_KERNELS_FEW_PAIRS_CONTRACT_H_

#include <cstdint>

namespace canopy::kernels {

inline constexpr int kFewPairsLanes = 16;

// Where the two pixels' channels begin, in floats.
struct PixelPair {
  int32_t input, output;
};

// The pairs of kernel offset t are numbers ends[t - 1] to ends[t] - 1, from 0 on.
struct PixelPairs {
  const PixelPair* pairs;
  const int32_t* ends;
  int64_t taps;
  int64_t inputs, outputs;  // channels, inputs <= kFewPairsLanes
};

struct FewPairsKernels {
  // results[pair.input + l] += sum over o of output[pair.output + o] * weights[(t * outputs + o) * kFewPairsLanes + l]
  // for the pairs of all t, 0 <= l < inputs; other lanes of the rows may change, too.
  void (*add_data)(const PixelPairs& pairs, const float* output, const float* weights, float* results);

  // gradients[(t * outputs + o) * kFewPairsLanes + l] = sum over the pairs of t of input[pair.input + l] *
  // output[pair.output + o], likewise.
  void (*sum_weights)(const PixelPairs& pairs, const float* input, const float* output, float* gradients);
};

const FewPairsKernels& FewPairs();

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_FEW_PAIRS_CONTRACT_H_
