// SPDX-License-Identifier: Apache-2.0
// HIFLOAT8: 8 bits with tapered precision. After the sign a prefix ("dot") says how many exponent bits follow; what
// remains is mantissa: 3 bits where |exponent| <= 3, 2 up to 7, 1 up to 15, and below 2^-15 powers of two down to
// 2^-22. One zero (0x00), one NaN (0x80), Inf is 0x6F and 0xEF, the greatest finite value is 2^15.
#ifndef CANOPY_NUMERICS_HIFLOAT8_H_
#define CANOPY_NUMERICS_HIFLOAT8_H_

#include <bit>
#include <cstdint>

#include "numerics/bits.h"

namespace canopy::numerics {

// Mantissa bits of a normal value of this exponent. REQUIRES: -15 <= exponent <= 15.
constexpr int HiFloat8MantissaBits(int exponent) {
  const int size = exponent < 0 ? -exponent : exponent;
  return size <= 3 ? 3 : size <= 7 ? 2 : 1;
}

// Exact. NaN gives the quiet NaN 0x7FC00000.
constexpr float HiFloat8ToFloat(uint8_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x80) << 24;
  const int body = code & 0x7F;
  if (code == 0x80) return FromBits(kFloatInf | kFloatQuiet);
  if (body == 0) return FromBits(0);
  if (body == 0x6F) return FromBits(sign | kFloatInf);
  if (body < 0x08) return FromBits(sign | static_cast<uint32_t>(body - 23 + 127) << 23);  // 0000mmm: 2^(m - 23)
  // The prefix: 0001 no exponent bits, 001 one, 01 two, 10 three, 11 four.
  const int width = body < 0x10 ? 0 : body < 0x20 ? 1 : body < 0x40 ? 2 : body < 0x60 ? 3 : 4;
  int exponent = 0;
  int mantissa_bits = 3;
  if (width > 0) {
    mantissa_bits = width <= 2 ? 3 : width == 3 ? 2 : 1;
    const int field = (body >> mantissa_bits) & ((1 << width) - 1);
    const int half = 1 << (width - 1);  // the field's top bit is the exponent's sign, replaced by an implicit one
    exponent = (field & half) != 0 ? -field : field + half;
  }
  const uint32_t mantissa = static_cast<uint32_t>(body & ((1 << mantissa_bits) - 1)) << (23 - mantissa_bits);
  return FromBits(sign | static_cast<uint32_t>(exponent + 127) << 23 | mantissa);
}

// The code of 2^exponent * (1 + mantissa / 2^HiFloat8MantissaBits(exponent)), positive.
// REQUIRES: -15 <= exponent <= 15 and the mantissa fits.
constexpr uint8_t EncodeHiFloat8(int exponent, uint32_t mantissa) {
  if (exponent == 0) return static_cast<uint8_t>(0x08 | mantissa);
  const int size = exponent < 0 ? -exponent : exponent;
  const int width = std::bit_width(static_cast<unsigned>(size));
  const int half = 1 << (width - 1);
  const int field = exponent < 0 ? size : size - half;
  constexpr uint8_t kPrefix[] = {0x08, 0x10, 0x20, 0x40, 0x60};
  return static_cast<uint8_t>(kPrefix[width] | field << HiFloat8MantissaBits(exponent) | mantissa);
}

// To nearest, ties away from zero. Below 2^-23 the result is +0 and the sign is lost; from 1.25 * 2^15 on it is Inf;
// NaN gives 0x80. `saturate`: overflow and Inf give 2^15, NaN gives +0.
constexpr uint8_t FloatToHiFloat8(float value, bool saturate = false) {
  const uint32_t bits = ToBits(value);
  const uint32_t magnitude = bits & ~kFloatSign;
  if (magnitude > kFloatInf) return saturate ? 0x00 : 0x80;
  const uint32_t sign = (bits & kFloatSign) >> 24;
  constexpr uint32_t kFirstOverflow = 0x47200000;  // 40960
  if (magnitude >= kFirstOverflow) return static_cast<uint8_t>(sign | (saturate ? 0x6E : 0x6F));
  constexpr uint32_t kHalfMin = 0x34000000;  // 2^-23, halfway between 0 and the least value
  if (magnitude < kHalfMin) return 0;
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  if (exponent < -15) {
    const int nearest = static_cast<int>(DropBitsNearestAway(magnitude, 23)) - 127;
    const int power = nearest < -22 ? -22 : nearest;  // -22 .. -15; 2^-23 itself is a tie and goes up
    return static_cast<uint8_t>(sign | (power < -15 ? static_cast<uint8_t>(power + 23) : EncodeHiFloat8(power, 0)));
  }
  const int mantissa_bits = HiFloat8MantissaBits(exponent);
  const uint32_t rounded = DropBitsNearestAway(magnitude, 23 - mantissa_bits);
  const int rounded_exponent = static_cast<int>(rounded >> mantissa_bits) - 127;
  // A carry leaves a zero mantissa, whatever the next exponent's width is.
  return static_cast<uint8_t>(sign | EncodeHiFloat8(rounded_exponent, rounded & ((1u << mantissa_bits) - 1)));
}

}  // namespace canopy::numerics

#endif  // CANOPY_NUMERICS_HIFLOAT8_H_
