// SPDX-License-Identifier: Apache-2.0
// The UCI handwritten digits: reading them, and putting a fifth aside before anything is trained.
#ifndef EXAMPLES_TRAIN_DIGITS_DIGITS_H_
#define EXAMPLES_TRAIN_DIGITS_DIGITS_H_

#include <string>
#include <vector>

const int kSide = 8;
const int kPixels = kSide * kSide;
const int kClasses = 10;

struct Digit {
  float pixels[kPixels];  // 0 white to 1 black
  int label;
};

struct Split {
  std::vector<Digit> training;
  std::vector<Digit> held_out;
};

// Empty when the file cannot be read or is not what examples/data/README.md says.
std::vector<Digit> ReadDigits(const std::string& path);

// A fifth of each class, chosen by `seed` alone, is held out.
Split SplitDigits(const std::vector<Digit>& digits, unsigned seed);

// The image moved by whole pixels, white where nothing came from.
Digit Shifted(const Digit& digit, int down, int right);

#endif  // EXAMPLES_TRAIN_DIGITS_DIGITS_H_
