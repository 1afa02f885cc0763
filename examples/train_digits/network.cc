// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include <algorithm>
#include <cmath>

namespace {

const int kHidden = 32;
const int kOut = 64;
const int kFeatures = kOut * (kSide / 2) * (kSide / 2);

void Relu(std::vector<float>* values) {
  for (float& value : *values) value = std::max(value, 0.0f);
}

// The gradient passes where the ReLU let the value pass.
void ReluBackward(const std::vector<float>& passed, std::vector<float>* gradient) {
  for (size_t i = 0; i < passed.size(); ++i) {
    if (passed[i] <= 0) (*gradient)[i] = 0;
  }
}

void Softmax(float* scores) {
  const float largest = *std::max_element(scores, scores + kClasses);
  float sum = 0;
  for (int c = 0; c < kClasses; ++c) sum += scores[c] = std::exp(scores[c] - largest);
  for (int c = 0; c < kClasses; ++c) scores[c] /= sum;
}

}  // namespace

Network::Network(example::Device* device, int batch, std::mt19937* random)
    : batch_(batch),
      first_(device, ConvShape{batch, 1, kHidden, kSide, 1}, /*first=*/true, random),
      second_(device, ConvShape{batch, kHidden, kOut, kSide, 2}, /*first=*/false, random),
      dense_weight_(kClasses * kFeatures),
      dense_bias_(kClasses) {
  dense_weight_.Draw(kFeatures, random);
}

std::vector<float> Network::Dense(const std::vector<float>& features) const {
  std::vector<float> scores(batch_ * kClasses);
  for (int n = 0; n < batch_; ++n) {
    for (int c = 0; c < kClasses; ++c) {
      float sum = dense_bias_.values[c];
      for (int f = 0; f < kFeatures; ++f) sum += features[n * kFeatures + f] * dense_weight_.values[c * kFeatures + f];
      scores[n * kClasses + c] = sum;
    }
  }
  return scores;
}

std::vector<float> Network::DenseBackward(const std::vector<float>& grad_scores) {
  std::fill(dense_weight_.gradient.begin(), dense_weight_.gradient.end(), 0.0f);
  std::fill(dense_bias_.gradient.begin(), dense_bias_.gradient.end(), 0.0f);
  std::vector<float> grad_features(batch_ * kFeatures);
  for (int n = 0; n < batch_; ++n) {
    for (int c = 0; c < kClasses; ++c) {
      const float grad = grad_scores[n * kClasses + c];
      dense_bias_.gradient[c] += grad;
      for (int f = 0; f < kFeatures; ++f) {
        dense_weight_.gradient[c * kFeatures + f] += grad * features_[n * kFeatures + f];
        grad_features[n * kFeatures + f] += grad * dense_weight_.values[c * kFeatures + f];
      }
    }
  }
  return grad_features;
}

std::vector<float> Network::Probabilities(const std::vector<Digit>& digits) {
  std::vector<float> images(batch_ * kPixels);  // a short batch is filled up with white images
  for (size_t n = 0; n < digits.size(); ++n) {
    std::copy(digits[n].pixels, digits[n].pixels + kPixels, images.begin() + n * kPixels);
  }
  hidden_ = first_.Forward(images);
  Relu(&hidden_);
  features_ = second_.Forward(hidden_);
  Relu(&features_);
  std::vector<float> scores = Dense(features_);
  for (int n = 0; n < batch_; ++n) Softmax(&scores[n * kClasses]);
  return scores;
}

double Network::Learn(const std::vector<Digit>& batch, float rate) {
  std::vector<float> gradient = Probabilities(batch);
  double loss = 0;
  for (int n = 0; n < batch_; ++n) {  // softmax with cross entropy: the scores' gradient is probability - truth
    float* row = &gradient[n * kClasses];
    loss -= std::log(std::max(row[batch[n].label], 1e-30f)) / batch_;
    row[batch[n].label] -= 1;
    for (int c = 0; c < kClasses; ++c) row[c] /= static_cast<float>(batch_);
  }
  gradient = DenseBackward(gradient);
  ReluBackward(features_, &gradient);
  gradient = second_.Backward(gradient);
  ReluBackward(hidden_, &gradient);
  first_.Backward(gradient);

  ++step_;
  first_.Learn(rate, step_);
  second_.Learn(rate, step_);
  dense_weight_.AdamStep(rate, step_);
  dense_bias_.AdamStep(rate, step_);
  return loss;
}

std::vector<int> Network::Classify(const std::vector<Digit>& digits) {
  const std::vector<float> probabilities = Probabilities(digits);
  std::vector<int> classes;
  for (size_t n = 0; n < digits.size(); ++n) {
    const float* row = &probabilities[n * kClasses];
    classes.push_back(static_cast<int>(std::max_element(row, row + kClasses) - row));
  }
  return classes;
}
