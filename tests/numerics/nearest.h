// SPDX-License-Identifier: Apache-2.0
// An oracle for rounding that knows nothing of bit tricks: all values of a format in a sorted list, and a binary search
// for the two neighbours of a number, compared in double precision, where every midpoint is exact.
#ifndef CANOPY_TESTS_NUMERICS_NEAREST_H_
#define CANOPY_TESTS_NUMERICS_NEAREST_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "numerics/bits.h"

namespace canopy::numerics {

struct Code {
  double value;
  uint32_t bits;
};

enum class Ties { kEvenCode, kAway };

// `positive`: the finite codes without sign, 0 included, and as the last entry what would come next if the format went
// on (its `bits` are the result of overflow). Returns the bits for |value|.
inline uint32_t Nearest(const std::vector<Code>& positive, double magnitude, Ties ties) {
  const auto above = std::lower_bound(positive.begin(), positive.end(), magnitude,
                                      [](const Code& code, double v) { return code.value < v; });
  if (above == positive.end()) return positive.back().bits;
  if (above->value == magnitude || above == positive.begin()) return above->bits;
  const auto below = above - 1;
  const double midpoint = (below->value + above->value) / 2;
  if (magnitude != midpoint) return magnitude < midpoint ? below->bits : above->bits;
  // Adjacent codes of the formats with ties to even differ by one, so the even one has the even mantissa.
  return ties == Ties::kAway || below->bits % 2 == 1 ? above->bits : below->bits;
}

// Calls check(float) for every value and every midpoint between neighbours, with the FP32 numbers next to them, both
// signs.
template <class Check>
void ForEveryBoundary(const std::vector<Code>& positive, Check check) {
  for (size_t i = 0; i < positive.size(); ++i) {
    const double points[] = {positive[i].value, i == 0 ? 0.0 : (positive[i - 1].value + positive[i].value) / 2};
    for (const double point : points) {
      const float middle = static_cast<float>(point);
      const float around[] = {std::nextafterf(middle, 0.0f), middle,
                              std::nextafterf(middle, std::numeric_limits<float>::infinity())};
      for (const float value : around) {
        check(value);
        check(-value);
      }
    }
  }
}

}  // namespace canopy::numerics

#endif  // CANOPY_TESTS_NUMERICS_NEAREST_H_
