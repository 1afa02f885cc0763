// SPDX-License-Identifier: Apache-2.0
#include "bench/machine_loops.h"

#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/machine_loops.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace canopy::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Independent sums: latency times rate is 8 to 10 on the processors of the day, and two registers are left for the
// factors. With more the compiler would spill and the figure would not be a peak.
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kSums = 24;
#else
inline constexpr int kSums = 12;
#endif

double Spin(int64_t rounds) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V factor = hn::Set(d, 1.0f + static_cast<float>(rounds & 1)), other = hn::Set(d, 1e-9f);
  V sums[kSums];
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < kSums; ++i) sums[i] = hn::MulAdd(factor, other, sums[i]);
  }
  V total = sums[0];
#pragma GCC unroll 24
  for (int i = 1; i < kSums; ++i) total = hn::Add(total, sums[i]);
  [[maybe_unused]] static volatile float sink;  // else the loop would have no result
  sink = hn::GetLane(total);
  return 2.0 * kSums * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

void Read(const void* data, size_t bytes) {
  const hn::ScalableTag<uint32_t> d;
  using V = hn::Vec<decltype(d)>;
  const uint32_t* from = static_cast<const uint32_t*>(data);
  const size_t lanes = hn::Lanes(d);
  V seen[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) seen[i] = hn::Zero(d);
  for (size_t at = 0; at < bytes / 4; at += 8 * lanes) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) seen[i] = hn::Or(seen[i], hn::Load(d, from + at + i * lanes));
  }
  V total = seen[0];
#pragma GCC unroll 8
  for (int i = 1; i < 8; ++i) total = hn::Or(total, seen[i]);
  [[maybe_unused]] static volatile uint32_t sink;
  sink = hn::GetLane(total);
}

const char* Target() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace canopy::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace canopy::bench {

HWY_EXPORT(Spin);
HWY_EXPORT(Read);
HWY_EXPORT(Target);

double SpinFma(int64_t rounds) { return HWY_DYNAMIC_DISPATCH(Spin)(rounds); }
void ReadAll(const void* data, size_t bytes) { HWY_DYNAMIC_DISPATCH(Read)(data, bytes); }
const char* LoopTarget() { return HWY_DYNAMIC_DISPATCH(Target)(); }

}  // namespace canopy::bench
#endif
