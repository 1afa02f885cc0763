// SPDX-License-Identifier: Apache-2.0
// Chance that is the same on every platform, unlike std::shuffle and the standard library's distributions.
#ifndef EXAMPLES_TRAIN_DIGITS_SHUFFLE_H_
#define EXAMPLES_TRAIN_DIGITS_SHUFFLE_H_

#include <random>
#include <utility>
#include <vector>

template <typename T>
void Shuffle(std::vector<T>* items, std::mt19937* random) {
  for (size_t left = items->size(); left > 1; --left) std::swap((*items)[left - 1], (*items)[(*random)() % left]);
}

// Uniform in [-bound, bound).
inline float Uniform(std::mt19937* random, float bound) {
  return (static_cast<float>((*random)() >> 8) / 8388608.0f - 1.0f) * bound;
}

#endif  // EXAMPLES_TRAIN_DIGITS_SHUFFLE_H_
