// SPDX-License-Identifier: Apache-2.0
// A 3x3 convolution with bias whose output and gradients aclnn computes.
#ifndef EXAMPLES_TRAIN_DIGITS_CONV_LAYER_H_
#define EXAMPLES_TRAIN_DIGITS_CONV_LAYER_H_

#include <random>
#include <vector>

#include "../device.h"
#include "parameter.h"

struct ConvShape {
  int batch, in_channels, out_channels, in_side, stride;
  int out_side() const { return (in_side + 2 - 3) / stride + 1; }
};

class ConvLayer {
 public:
  // `first`: nothing below it learns, so gradInput is never asked for.
  ConvLayer(example::Device* device, const ConvShape& shape, bool first, std::mt19937* random);

  std::vector<float> Forward(const std::vector<float>& input);

  // For the input of the last Forward. Fills the parameters' gradients; returns gradInput (empty for the first layer).
  std::vector<float> Backward(const std::vector<float>& grad_output);

  void Learn(float rate, int step);

 private:
  example::Device* device_;
  const bool first_;
  Parameter weight_values_, bias_values_;
  example::Tensor input_, weight_, bias_, output_, grad_output_, grad_input_, grad_weight_, grad_bias_;
  const example::IntArray stride_, padding_, dilation_, output_padding_, bias_sizes_;
  const example::OutputMask mask_;
};

#endif  // EXAMPLES_TRAIN_DIGITS_CONV_LAYER_H_
