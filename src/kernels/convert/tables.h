// SPDX-License-Identifier: Apache-2.0
// Look-up tables for the 8-bit formats, computed from the scalar routines while compiling.
#ifndef CANOPY_KERNELS_CONVERT_TABLES_H_
#define CANOPY_KERNELS_CONVERT_TABLES_H_

#include <array>
#include <cstdint>

#include "numerics/rounding.h"

namespace canopy::kernels::convert {

// FP32 patterns of the 256 codes.
template <float (*Decode)(uint8_t)>
constexpr std::array<int32_t, 256> MakePatterns() {
  std::array<int32_t, 256> patterns{};
  for (int code = 0; code < 256; ++code) {
    patterns[code] = static_cast<int32_t>(numerics::ToBits(Decode(static_cast<uint8_t>(code))));
  }
  return patterns;
}
inline constexpr std::array<int32_t, 256> kHiFloat8Patterns = MakePatterns<numerics::HiFloat8ToFloat>();
inline constexpr std::array<int32_t, 256> kFloat8E4M3Patterns = MakePatterns<numerics::Float8E4M3ToFloat>();

// HiFloat8 rounds ties away, so the first dropped bit decides alone: a magnitude's exponent and top four mantissa bits,
// its pattern shifted right by kHiFloat8Shift, determine the code. The first entry is that of 2^-23, the least
// magnitude that does not become 0; the last one is that of 40960, from where on all is Inf.
inline constexpr int kHiFloat8Shift = 19;
inline constexpr int32_t kHiFloat8First = 0x34000000;
inline constexpr int32_t kHiFloat8Last = 0x47200000;
inline constexpr int kHiFloat8Entries = ((kHiFloat8Last - kHiFloat8First) >> kHiFloat8Shift) + 1;

constexpr std::array<int32_t, kHiFloat8Entries> MakeHiFloat8Codes() {
  std::array<int32_t, kHiFloat8Entries> codes{};
  for (int i = 0; i < kHiFloat8Entries; ++i) {
    const int32_t pattern = kHiFloat8First + (i << kHiFloat8Shift);
    codes[i] = numerics::FloatToHiFloat8(numerics::FromBits(static_cast<uint32_t>(pattern)));
  }
  return codes;
}
inline constexpr std::array<int32_t, kHiFloat8Entries> kHiFloat8Codes = MakeHiFloat8Codes();

}  // namespace canopy::kernels::convert

#endif  // CANOPY_KERNELS_CONVERT_TABLES_H_
