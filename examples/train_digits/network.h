// SPDX-License-Identifier: Apache-2.0
// 8x8 image -> convolution to 32 channels -> ReLU -> convolution to 64 channels, stride 2 -> ReLU -> dense -> softmax.
// The convolutions are aclnn's; the rest is written plainly here.
#ifndef EXAMPLES_TRAIN_DIGITS_NETWORK_H_
#define EXAMPLES_TRAIN_DIGITS_NETWORK_H_

#include <random>
#include <vector>

#include "../device.h"
#include "conv_layer.h"
#include "digits.h"
#include "parameter.h"

class Network {
 public:
  Network(example::Device* device, int batch, std::mt19937* random);

  // One step of learning from a full batch; its mean loss.
  double Learn(const std::vector<Digit>& batch, float rate);

  // The likeliest class of each digit. REQUIRES: no more digits than a batch has.
  std::vector<int> Classify(const std::vector<Digit>& digits);

 private:
  // Class probabilities, a row for each digit; keeps what Learn needs.
  std::vector<float> Probabilities(const std::vector<Digit>& digits);
  std::vector<float> Dense(const std::vector<float>& features) const;
  // From the gradient of the scores: fills the dense layer's gradients, returns that of its input.
  std::vector<float> DenseBackward(const std::vector<float>& grad_scores);

  const int batch_;
  ConvLayer first_, second_;
  Parameter dense_weight_, dense_bias_;
  std::vector<float> hidden_, features_;  // behind each ReLU
  int step_ = 0;
};

#endif  // EXAMPLES_TRAIN_DIGITS_NETWORK_H_
