// SPDX-License-Identifier: Apache-2.0
// HFLOAT32: FP32 with 11 (Atlas A2, A3) or 10 (Ascend 950) mantissa bits, in an FP32 container. A way of computing, not
// a type of tensors: multiplicands are rounded to it, results never are.
#ifndef CANOPY_NUMERICS_HFLOAT32_H_
#define CANOPY_NUMERICS_HFLOAT32_H_

#include <cstdint>

#include "numerics/bits.h"

namespace canopy::numerics {

// To nearest even, subnormals like any other pattern. What rounds beyond the greatest value becomes Inf; a NaN keeps
// its sign and the top of its payload and becomes quiet. `saturate`: overflow and Inf give the greatest finite
// HFLOAT32, NaN gives +0.
template <int kMantissaBits>
constexpr float RoundToHfloat32(float value, bool saturate = false) {
  constexpr int kDropped = 23 - kMantissaBits;
  constexpr uint32_t kKept = ~((1u << kDropped) - 1);
  const uint32_t bits = ToBits(value);
  const uint32_t magnitude = bits & ~kFloatSign;
  if (magnitude > kFloatInf) return FromBits(saturate ? 0 : (bits | kFloatQuiet) & kKept);
  const uint32_t rounded = DropBitsNearestEven(magnitude, kDropped) << kDropped;
  return FromBits((bits & kFloatSign) | (saturate && rounded >= kFloatInf ? kFloatMax & kKept : rounded));
}

constexpr float RoundToHfloat32x11(float value, bool saturate = false) { return RoundToHfloat32<11>(value, saturate); }
constexpr float RoundToHfloat32x10(float value, bool saturate = false) { return RoundToHfloat32<10>(value, saturate); }

}  // namespace canopy::numerics

#endif  // CANOPY_NUMERICS_HFLOAT32_H_
