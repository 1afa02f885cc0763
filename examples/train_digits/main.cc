// SPDX-License-Identifier: Apache-2.0
// Trains a small convolutional network on real handwritten digits: train_digits FILE [EPOCHS].
// A fifth of the digits, chosen before training, is never learnt from; at least 97% of it must be recognised. The
// constants below were chosen by cross-validation inside the other four fifths.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "../device.h"
#include "digits.h"
#include "network.h"
#include "shuffle.h"

namespace {

const int kBatch = 32;
const int kEpochs = 25;
const float kRate = 0.003f;  // falls linearly to 0
const double kWanted = 0.97;
const unsigned kSplitSeed = 1, kTrainingSeed = 2;

struct Confusion {
  int count[kClasses][kClasses] = {};  // [what it is][what it was taken for]

  double Accuracy() const {
    int right = 0, all = 0;
    for (int truth = 0; truth < kClasses; ++truth) {
      right += count[truth][truth];
      for (int taken : count[truth]) all += taken;
    }
    return static_cast<double>(right) / all;
  }
};

Confusion Evaluate(Network* network, const std::vector<Digit>& digits) {
  Confusion confusion;
  for (size_t start = 0; start < digits.size(); start += kBatch) {
    const size_t end = std::min(digits.size(), start + kBatch);
    const std::vector<Digit> batch(digits.begin() + start, digits.begin() + end);
    const std::vector<int> classes = network->Classify(batch);
    for (size_t n = 0; n < batch.size(); ++n) ++confusion.count[batch[n].label][classes[n]];
  }
  return confusion;
}

// Half of the digits, moved by up to a pixel each way: more to learn from, the same to recognise.
std::vector<Digit> Varied(const std::vector<Digit>& digits, std::mt19937* random) {
  std::vector<Digit> varied = digits;
  for (Digit& digit : varied) {
    const int place = (*random)() % 2 == 0 ? 4 : static_cast<int>((*random)() % 9);
    digit = Shifted(digit, place / 3 - 1, place % 3 - 1);
  }
  return varied;
}

// One pass over the training digits in a new order, the incomplete last batch left out; the mean loss.
double Epoch(Network* network, const std::vector<Digit>& digits, float rate, std::mt19937* random) {
  std::vector<Digit> training = Varied(digits, random);
  Shuffle(&training, random);
  const size_t batches = training.size() / kBatch;
  double loss = 0;
  for (size_t b = 0; b < batches; ++b) {
    const auto start = training.begin() + b * kBatch;
    loss += network->Learn(std::vector<Digit>(start, start + kBatch), rate);
  }
  return loss / batches;
}

void Print(const Confusion& confusion) {
  std::printf("\nheld-out digits, by what they are (rows) and what they were taken for (columns):\n    ");
  for (int c = 0; c < kClasses; ++c) std::printf("%4d", c);
  for (int truth = 0; truth < kClasses; ++truth) {
    std::printf("\n%4d", truth);
    for (int taken : confusion.count[truth]) {
      if (taken == 0) {
        std::printf("   .");
      } else {
        std::printf("%4d", taken);
      }
    }
  }
  std::printf("\n\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::printf("usage: train_digits FILE [EPOCHS]\nFILE is examples/data/digits.csv\n");
    return 2;
  }
  const std::vector<Digit> digits = ReadDigits(argv[1]);
  if (digits.empty()) {
    std::printf("%s: cannot be read, or is not 64 numbers from 0 to 16 and a class from 0 to 9 a line\n", argv[1]);
    return 2;
  }
  const int epochs = argc > 2 ? std::max(1, std::atoi(argv[2])) : kEpochs;
  const Split split = SplitDigits(digits, kSplitSeed);
  std::printf("%zu digits: %zu to learn from, %zu held out\n", digits.size(), split.training.size(),
              split.held_out.size());

  const auto started = std::chrono::steady_clock::now();
  example::Device device;
  std::mt19937 random(kTrainingSeed);
  Network network(&device, kBatch, &random);
  Confusion confusion;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const float rate = kRate * static_cast<float>(epochs + 1 - epoch) / static_cast<float>(epochs);
    const double loss = Epoch(&network, split.training, rate, &random);
    confusion = Evaluate(&network, split.held_out);
    std::printf("epoch %2d  loss %.4f  accuracy on held-out digits %6.2f%%\n", epoch, loss, 100 * confusion.Accuracy());
    std::fflush(stdout);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;

  Print(confusion);
  const double accuracy = confusion.Accuracy();
  std::printf("%.2f%% of the held-out digits recognised (at least %.0f%% wanted), in %.1f s\n", 100 * accuracy,
              100 * kWanted, seconds.count());
  return accuracy >= kWanted ? 0 : 1;
}
