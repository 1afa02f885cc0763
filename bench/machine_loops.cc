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

}  // namespace HWY_NAMESPACE
}  // namespace canopy::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace canopy::bench {

HWY_EXPORT(Read);

void ReadAll(const void* data, size_t bytes) { HWY_DYNAMIC_DISPATCH(Read)(data, bytes); }

}  // namespace canopy::bench
#endif
