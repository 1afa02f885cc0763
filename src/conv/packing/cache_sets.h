// SPDX-License-Identifier: Apache-2.0
// First-level caches have 64 sets, of 8 lines or 12, and a line's place in memory says which set it may be in.
#ifndef CANOPY_CONV_PACKING_CACHE_SETS_H_
#define CANOPY_CONV_PACKING_CACHE_SETS_H_

#include <cstdint>

namespace canopy::conv::packing {

// Whether so many rows of a tensor, `stride` floats apart, are too many to be read side by side: the lines of all are
// in one set, and each drives out another before it is used up. One too many costs less than a copy.
constexpr bool CrowdASet(int64_t rows, int64_t stride) {
  constexpr int64_t kLines = 12, kSetsFloats = 64 * 16;
  return rows > kLines && stride % kSetsFloats == 0;
}

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_CACHE_SETS_H_
