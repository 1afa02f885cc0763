// SPDX-License-Identifier: Apache-2.0
// Random operator calls that a product accepts, drawn where implementations break: extents around vector
// widths, padding beyond the kernel, kernels beyond the image, strides beyond the kernel, every layout of every tensor.
#ifndef CANOPY_TESTS_SWEEP_DRAW_H_
#define CANOPY_TESTS_SWEEP_DRAW_H_

#include <cstdint>
#include <random>
#include <vector>

#include "conv/call_text.h"

namespace canopy::sweep {

// One generator for a problem; the same seed gives the same problem on every machine.
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}

  // In [low, high].
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool Chance(int percent) { return Between(1, 100) <= percent; }
  template <class T>
  T OneOf(const std::vector<T>& values) {
    return values[static_cast<size_t>(Between(0, static_cast<int64_t>(values.size()) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

// Products that differ in what they accept: Ascend 910 and 310P; Atlas A2 and A3; Ascend 950.
enum class Generation { kFirst, kSecond, kThird };

// At most `max_work` multiply-adds for each result.
conv::Call DrawCall(Dice* dice, double max_work, Generation generation);

// Multiply-adds of one computation.
double Work(const conv::Call& call);

}  // namespace canopy::sweep

#endif  // CANOPY_TESTS_SWEEP_DRAW_H_
