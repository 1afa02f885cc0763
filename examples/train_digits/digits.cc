// SPDX-License-Identifier: Apache-2.0
#include "digits.h"

#include <fstream>
#include <random>

#include "shuffle.h"

std::vector<Digit> ReadDigits(const std::string& path) {
  std::vector<Digit> digits;
  std::ifstream file(path);
  int value = 0;
  char comma = 0;
  Digit digit;
  while (file >> value) {
    int pixel = 0;
    for (; pixel < kPixels && value >= 0 && value <= 16 && file >> comma; ++pixel) {
      digit.pixels[pixel] = static_cast<float>(value) / 16;
      file >> value;
    }
    if (pixel != kPixels || !file || value < 0 || value >= kClasses) return {};
    digit.label = value;
    digits.push_back(digit);
  }
  return digits;
}

Split SplitDigits(const std::vector<Digit>& digits, unsigned seed) {
  std::mt19937 random(seed);
  Split split;
  for (int label = 0; label < kClasses; ++label) {
    std::vector<Digit> same;
    for (const Digit& digit : digits) {
      if (digit.label == label) same.push_back(digit);
    }
    Shuffle(&same, &random);
    const size_t fifth = (same.size() + 2) / 5;
    split.held_out.insert(split.held_out.end(), same.begin(), same.begin() + fifth);
    split.training.insert(split.training.end(), same.begin() + fifth, same.end());
  }
  return split;
}

Digit Shifted(const Digit& digit, int down, int right) {
  Digit shifted = digit;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const int from_y = y - down, from_x = x - right;
      const bool inside = from_y >= 0 && from_y < kSide && from_x >= 0 && from_x < kSide;
      shifted.pixels[y * kSide + x] = inside ? digit.pixels[from_y * kSide + from_x] : 0;
    }
  }
  return shifted;
}
