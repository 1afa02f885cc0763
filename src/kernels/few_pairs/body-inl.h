// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_FEW_PAIRS_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_FEW_PAIRS_BODY_INL_H_
#undef CANOPY_KERNELS_FEW_PAIRS_BODY_INL_H_
#else
#define CANOPY_KERNELS_FEW_PAIRS_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/few_pairs/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FewPairsTag = hn::CappedTag<float, kFewPairsLanes>;
using FewPairsVec = hn::Vec<FewPairsTag>;

inline void AddDataPairs(const PixelPairs& p, const float* HWY_RESTRICT output, const float* HWY_RESTRICT weights,
                         float* HWY_RESTRICT results) {
  const FewPairsTag d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t l = 0; l < p.inputs; l += lanes) {
    const PixelPair* pair = p.pairs;
    for (int64_t t = 0; t < p.taps; ++t) {
      const float* HWY_RESTRICT of_tap = weights + t * p.outputs * kFewPairsLanes + l;
      for (const PixelPair* end = p.pairs + p.ends[t]; pair != end; ++pair) {
        const float* HWY_RESTRICT factors = output + pair->output;
        float* HWY_RESTRICT to = results + pair->input + l;
        FewPairsVec even = hn::LoadU(d, to), odd = hn::Zero(d);
        const float* HWY_RESTRICT weight = of_tap;
        int64_t o = 1;
        for (; o < p.outputs; o += 2, weight += 2 * kFewPairsLanes) {
          even = hn::MulAdd(hn::Set(d, factors[o - 1]), hn::LoadU(d, weight), even);
          odd = hn::MulAdd(hn::Set(d, factors[o]), hn::LoadU(d, weight + kFewPairsLanes), odd);
        }
        if (o == p.outputs) even = hn::MulAdd(hn::Set(d, factors[o - 1]), hn::LoadU(d, weight), even);
        hn::StoreU(hn::Add(even, odd), d, to);
      }
    }
  }
}

inline constexpr int kFewPairsOutputs = 4;  // at once

// Of kOutputs output channels of a tap: gradients kFewPairsLanes apart. Two sums each, so that they wait less.
template <int kOutputs>
HWY_INLINE void SumOutputs(const PixelPair* pair, const PixelPair* end, const float* HWY_RESTRICT input,
                           const float* HWY_RESTRICT output, float* HWY_RESTRICT gradients) {
  const FewPairsTag d;
  FewPairsVec even[kOutputs], odd[kOutputs];
#pragma GCC unroll 4
  for (int o = 0; o < kOutputs; ++o) even[o] = odd[o] = hn::Zero(d);
  const auto add = [&](const PixelPair& of, FewPairsVec* HWY_RESTRICT sums) HWY_ATTR {
    const FewPairsVec in = hn::LoadU(d, input + of.input);
#pragma GCC unroll 4
    for (int o = 0; o < kOutputs; ++o) sums[o] = hn::MulAdd(hn::Set(d, output[of.output + o]), in, sums[o]);
  };
  for (; end - pair >= 2; pair += 2) {
    add(pair[0], even);
    add(pair[1], odd);
  }
  if (pair != end) add(*pair, even);
#pragma GCC unroll 4
  for (int o = 0; o < kOutputs; ++o) hn::StoreU(hn::Add(even[o], odd[o]), d, gradients + o * kFewPairsLanes);
}

inline void SumWeightPairs(const PixelPairs& p, const float* HWY_RESTRICT input, const float* HWY_RESTRICT output,
                           float* HWY_RESTRICT gradients) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(FewPairsTag()));
  for (int64_t l = 0; l < p.inputs; l += lanes) {
    const PixelPair* pair = p.pairs;
    for (int64_t t = 0; t < p.taps; ++t) {
      const PixelPair* end = p.pairs + p.ends[t];
      float* to = gradients + t * p.outputs * kFewPairsLanes + l;
      for (int64_t o = 0; o < p.outputs; o += kFewPairsOutputs) {
        const float* from = output + o;
        float* of = to + o * kFewPairsLanes;
        switch (p.outputs - o) {
          case 1:
            SumOutputs<1>(pair, end, input + l, from, of);
            break;
          case 2:
            SumOutputs<2>(pair, end, input + l, from, of);
            break;
          case 3:
            SumOutputs<3>(pair, end, input + l, from, of);
            break;
          default:
            SumOutputs<4>(pair, end, input + l, from, of);
        }
      }
      pair = end;
    }
  }
}

inline const FewPairsKernels* FewPairsOfTarget() {
  static constexpr FewPairsKernels kKernels{&AddDataPairs, &SumWeightPairs};
  return &kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_FEW_PAIRS_BODY_INL_H_
