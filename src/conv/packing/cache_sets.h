// SPDX-License-Identifier: Apache-2.0
// First-level caches have 64 sets, of 8 lines or 12, and a line's place in memory says which set it may be in.
#ifndef CANOPY_CONV_PACKING_CACHE_SETS_H_
#define CANOPY_CONV_PACKING_CACHE_SETS_H_

#include <cstdint>
#include <numeric>

namespace canopy::conv::packing {

inline constexpr int64_t kSets = 64, kSetFloats = 16;  // a line's, from set to set

// Whether so many rows of a tensor, `stride` floats apart, are too many to be read side by side: the lines of all are
// in one set, and each drives out another before it is used up. One too many costs less than a copy.
constexpr bool CrowdASet(int64_t rows, int64_t stride) {
  constexpr int64_t kLines = 12;
  return rows > kLines && stride % (kSets * kSetFloats) == 0;
}

// Floats to leave behind each of so many rows, `stride` floats apart, that are written a line each in turn: without
// them all these lines would be in a few sets.
constexpr int64_t GapBehindRows(int64_t rows, int64_t stride) {
  constexpr int64_t kLines = 8;
  if (stride % kSetFloats != 0) return 0;
  const int64_t sets = kSets / std::gcd(kSets, stride / kSetFloats);
  return rows > kLines * sets ? kSetFloats : 0;
}

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_CACHE_SETS_H_
