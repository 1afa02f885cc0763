// SPDX-License-Identifier: Apache-2.0
// FP32 as its bit pattern. Every conversion of this folder is integer arithmetic on these patterns, so that neither
// flush-to-zero, denormals-are-zero nor the rounding direction of the calling thread can change a result.
#ifndef CANOPY_NUMERICS_BITS_H_
#define CANOPY_NUMERICS_BITS_H_

#include <bit>
#include <cstdint>

namespace canopy::numerics {

inline constexpr uint32_t kFloatSign = 0x80000000u;
inline constexpr uint32_t kFloatInf = 0x7F800000u;  // magnitudes above it are NaN
inline constexpr uint32_t kFloatMax = 0x7F7FFFFFu;
inline constexpr uint32_t kFloatQuiet = 0x00400000u;

constexpr uint32_t ToBits(float value) { return std::bit_cast<uint32_t>(value); }
constexpr float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

// `bits` without its low `drop` bits: the nearest multiple of 2^drop, ties to the one with an even quotient.
// REQUIRES: 1 <= drop <= 31, no carry out of bit 31.
constexpr uint32_t DropBitsNearestEven(uint32_t bits, int drop) {
  const uint32_t quotient_is_odd = (bits >> drop) & 1;
  return (bits + (1u << (drop - 1)) - 1 + quotient_is_odd) >> drop;
}

// The same with ties away from zero.
constexpr uint32_t DropBitsNearestAway(uint32_t bits, int drop) { return (bits + (1u << (drop - 1))) >> drop; }

}  // namespace canopy::numerics

#endif  // CANOPY_NUMERICS_BITS_H_
