// SPDX-License-Identifier: Apache-2.0
// Numbers for kernels.
#ifndef CANOPY_TESTS_KERNELS_RANDOM_FLOATS_H_
#define CANOPY_TESTS_KERNELS_RANDOM_FLOATS_H_

#include <cstdint>
#include <random>
#include <vector>

namespace canopy::kernels {

// From -1 to 1, the same for the same seed.
inline std::vector<float> RandomFloats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = real(random);
  return values;
}

}  // namespace canopy::kernels

#endif  // CANOPY_TESTS_KERNELS_RANDOM_FLOATS_H_
