// SPDX-License-Identifier: Apache-2.0
// CANN's own float16 conversions, warts and all: there is no Inf and no NaN. The operators do not use them.
#include <bit>
#include <cmath>
#include <cstdint>

#include "acl/acl_base.h"

namespace {

constexpr uint32_t kSign = 0x8000;
constexpr uint32_t kLargest = 0x7BFF;

// value >> shift, rounded to nearest, ties to even. REQUIRES: 0 < shift < 32.
uint32_t ShiftRounded(uint32_t value, uint32_t shift) {
  const uint32_t half = 1U << (shift - 1);
  const uint32_t rest = value & ((1U << shift) - 1);
  const uint32_t kept = value >> shift;
  return kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
}

}  // namespace

// The exponent 31 is an ordinary one.
float aclFloat16ToFloat(aclFloat16 value) {
  const int exponent = (value >> 10) & 0x1F;
  const int mantissa = value & 0x3FF;
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                        : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (value & kSign) != 0 ? -magnitude : magnitude;
}

// What is too large, infinite or not a number becomes the largest number, with the sign that it had.
aclFloat16 aclFloatToFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & kSign;
  const int exponent = static_cast<int>(bits >> 23 & 0xFF) - 127 + 15;
  const uint32_t fraction = bits & 0x7FFFFF;
  if (exponent >= 31) return static_cast<aclFloat16>(sign | kLargest);
  uint32_t magnitude = 0;
  if (exponent > 0) {
    magnitude = ShiftRounded(static_cast<uint32_t>(exponent) << 23 | fraction, 13);
  } else if (exponent >= -10) {
    magnitude = ShiftRounded(0x800000 | fraction, static_cast<uint32_t>(14 - exponent));
  }
  return static_cast<aclFloat16>(sign | (magnitude > kLargest ? kLargest : magnitude));
}
