// SPDX-License-Identifier: Apache-2.0
// FLOAT8_E4M3FN: 1 sign, 4 exponent (bias 7), 3 mantissa bits. No Inf; NaN is 0x7F and 0xFF; the greatest value is 448.
#ifndef CANOPY_NUMERICS_FLOAT8_E4M3_H_
#define CANOPY_NUMERICS_FLOAT8_E4M3_H_

#include <bit>
#include <cstdint>

#include "numerics/bits.h"

namespace canopy::numerics {

// Exact. Both NaN codes give the quiet NaN 0x7FC00000 with the code's sign.
constexpr float Float8E4M3ToFloat(uint8_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x80) << 24;
  const uint32_t exponent = (code >> 3) & 0xF;
  const uint32_t mantissa = code & 7;
  if (exponent == 0xF && mantissa == 7) return FromBits(sign | kFloatInf | kFloatQuiet);
  if (exponent != 0) return FromBits(sign | ((exponent + 127 - 7) << 23) | (mantissa << 20));
  if (mantissa == 0) return FromBits(sign);
  // mantissa * 2^-9, normalised.
  const int leading = std::bit_width(mantissa) - 1;
  return FromBits(sign | (static_cast<uint32_t>(leading - 9 + 127) << 23) | ((mantissa << (23 - leading)) & 0x7FFFFF));
}

// To nearest even; subnormals are kept; everything above 448, Inf too, gives 448; every NaN gives 0x7F.
// `saturate`: NaN gives +0 (overflow saturates in any case).
constexpr uint8_t FloatToFloat8E4M3(float value, bool saturate = false) {
  const uint32_t bits = ToBits(value);
  const uint32_t magnitude = bits & ~kFloatSign;
  if (magnitude > kFloatInf) return saturate ? 0 : 0x7F;
  const uint32_t sign = (bits & kFloatSign) >> 24;
  constexpr uint32_t kGreatest = 0x43E00000;  // 448
  if (magnitude >= kGreatest) return static_cast<uint8_t>(sign | 0x7E);
  constexpr uint32_t kMinNormal = 0x3C800000;  // 2^-6
  if (magnitude >= kMinNormal) {
    return static_cast<uint8_t>(sign | DropBitsNearestEven(magnitude - ((127u - 7) << 23), 20));
  }
  constexpr uint32_t kHalfMinSubnormal = 0x3A800000;  // 2^-10, which ties to 0
  if (magnitude <= kHalfMinSubnormal) return static_cast<uint8_t>(sign);
  // A multiple of 2^-9.
  const int exponent = static_cast<int>(magnitude >> 23) - 127;  // -10 .. -7
  const uint32_t significand = (magnitude & 0x7FFFFF) | 0x800000;
  return static_cast<uint8_t>(sign | DropBitsNearestEven(significand, 14 - exponent));
}

}  // namespace canopy::numerics

#endif  // CANOPY_NUMERICS_FLOAT8_E4M3_H_
