// SPDX-License-Identifier: Apache-2.0
// FLOAT16: 1 sign, 5 exponent (bias 15), 10 mantissa bits; IEEE binary16 with subnormals, Inf and NaN.
#ifndef CANOPY_NUMERICS_FLOAT16_H_
#define CANOPY_NUMERICS_FLOAT16_H_

#include <bit>
#include <cstdint>

#include "numerics/bits.h"

namespace canopy::numerics {

// Exact. A NaN keeps its sign and payload and becomes quiet.
constexpr float Float16ToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1F;
  const uint32_t mantissa = half & 0x3FF;
  if (exponent == 0x1F) return FromBits(sign | kFloatInf | (mantissa << 13) | (mantissa != 0 ? kFloatQuiet : 0));
  if (exponent != 0) return FromBits(sign | ((exponent + 127 - 15) << 23) | (mantissa << 13));
  if (mantissa == 0) return FromBits(sign);
  // mantissa * 2^-24, normalised: its leading bit becomes the implicit one.
  const int leading = std::bit_width(mantissa) - 1;
  return FromBits(sign | (static_cast<uint32_t>(leading - 24 + 127) << 23) | ((mantissa << (23 - leading)) & 0x7FFFFF));
}

// To nearest even; subnormals are kept, overflow gives Inf, a NaN keeps its sign and the top of its payload and becomes
// quiet. `saturate`: overflow and Inf give the greatest finite value, NaN gives +0.
constexpr uint16_t FloatToFloat16(float value, bool saturate = false) {
  const uint32_t bits = ToBits(value);
  const uint32_t magnitude = bits & ~kFloatSign;
  const uint32_t sign = (bits & kFloatSign) >> 16;
  if (magnitude > kFloatInf) {
    return static_cast<uint16_t>(saturate ? 0 : sign | 0x7E00 | ((magnitude >> 13) & 0x3FF));
  }
  constexpr uint32_t kFirstOverflow = 0x477FF000;  // 65520, halfway between 65504 and 65536
  if (magnitude >= kFirstOverflow) return static_cast<uint16_t>(sign | (saturate ? 0x7BFF : 0x7C00));
  constexpr uint32_t kMinNormal = 0x38800000;  // 2^-14
  if (magnitude >= kMinNormal) {
    return static_cast<uint16_t>(sign | DropBitsNearestEven(magnitude - ((127u - 15) << 23), 13));
  }
  constexpr uint32_t kHalfMinSubnormal = 0x33000000;  // 2^-25, which ties to 0
  if (magnitude <= kHalfMinSubnormal) return static_cast<uint16_t>(sign);
  // A multiple of 2^-24: the significand, with its leading one, shifted to that scale.
  const int exponent = static_cast<int>(magnitude >> 23) - 127;  // -25 .. -15
  const uint32_t significand = (magnitude & 0x7FFFFF) | 0x800000;
  return static_cast<uint16_t>(sign | DropBitsNearestEven(significand, -1 - exponent));
}

}  // namespace canopy::numerics

#endif  // CANOPY_NUMERICS_FLOAT16_H_
