// SPDX-License-Identifier: Apache-2.0
// BFLOAT16: the upper half of an FP32 pattern; 1 sign, 8 exponent, 7 mantissa bits.
#ifndef CANOPY_NUMERICS_BFLOAT16_H_
#define CANOPY_NUMERICS_BFLOAT16_H_

#include <cstdint>

#include "numerics/bits.h"

namespace canopy::numerics {

// Exact, NaN patterns included.
constexpr float BFloat16ToFloat(uint16_t bfloat) { return FromBits(static_cast<uint32_t>(bfloat) << 16); }

// To nearest even; subnormals are kept, overflow gives Inf, every NaN gives 0x7FC0. `saturate`: overflow and Inf give
// the greatest finite value, NaN gives +0.
constexpr uint16_t FloatToBFloat16(float value, bool saturate = false) {
  const uint32_t bits = ToBits(value);
  const uint32_t magnitude = bits & ~kFloatSign;
  if (magnitude > kFloatInf) return saturate ? 0 : 0x7FC0;
  const uint32_t sign = (bits & kFloatSign) >> 16;
  const uint32_t rounded = DropBitsNearestEven(magnitude, 16);
  return static_cast<uint16_t>(sign | (saturate && rounded > 0x7F7F ? 0x7F7F : rounded));
}

}  // namespace canopy::numerics

#endif  // CANOPY_NUMERICS_BFLOAT16_H_
