// SPDX-License-Identifier: Apache-2.0
// Random problems.
#ifndef CANOPY_TESTS_CONV_RANDOM_CASE_H_
#define CANOPY_TESTS_CONV_RANDOM_CASE_H_

#include <array>
#include <cstdint>
#include <random>

#include "tests/conv/case.h"

namespace canopy::conv {

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int64_t operator()(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  std::mt19937* engine() { return &random_; }

 private:
  std::mt19937 random_;
};

// Whole numbers in tensors of the usual order, or another, whose rows now and then have gaps between them; some
// gradients of the input have the inputs' type, other results are FLOAT.
Case PlainCase(const Geometry& g, uint32_t seed, DType type, Draw* draw,
               const std::array<int, 5>& order = {0, 1, 2, 3, 4});

// Gives a case, whose weights have a type, others of that kind, in an order and now and then with gaps between rows.
void LayWeights(const std::array<int, 5>& order, DType type, Draw* draw, Case* c);

enum class Types { kAny, kBf16, kRoundedToBf16 };

// Small enough for the formula, with every extent around the tiles' and vectors' sizes at some time.
Case RandomCase(uint32_t seed, bool integers, bool fast, Types types = Types::kAny);

}  // namespace canopy::conv

#endif  // CANOPY_TESTS_CONV_RANDOM_CASE_H_
