// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_PEAK_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_PEAK_BODY_INL_H_
#undef CANOPY_KERNELS_PEAK_BODY_INL_H_
#else
#define CANOPY_KERNELS_PEAK_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/peak/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Independent sums: latency times rate is 8 to 10 on the processors of the day, and two registers are left for the
// factors. With more the compiler would spill and the figure would not be a peak.
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kPeakSums = 24;
#else
inline constexpr int kPeakSums = 12;
#endif

inline double SpinOnTarget(int64_t rounds) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  // The products change from round to round: where nothing fuses, the compiler would multiply once. They tend to 2
  // or 4.
  const V factor = hn::Set(d, 0.5f), other = hn::Set(d, 1.0f + static_cast<float>(rounds & 1));
  V sums[kPeakSums];
#pragma GCC unroll 24
  for (int i = 0; i < kPeakSums; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < kPeakSums; ++i) sums[i] = hn::MulAdd(sums[i], factor, other);
  }
  V total = sums[0];
#pragma GCC unroll 24
  for (int i = 1; i < kPeakSums; ++i) total = hn::Add(total, sums[i]);
  [[maybe_unused]] volatile float sink = hn::GetLane(total);  // else the loop would have no result
  return 2.0 * kPeakSums * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_PEAK_BODY_INL_H_
