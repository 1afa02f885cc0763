// SPDX-License-Identifier: Apache-2.0
#include "opapi/conv_tbc_backward/lower.h"

#include "opapi/cube_math.h"
#include "opapi/tbc.h"

namespace canopy::opapi::conv_tbc_backward {

Lowered Lower(const Arguments& a, const product::Product& product) {
  Lowered lowered;
  conv::ConvProblem& problem = lowered.problem;
  problem.geometry = TbcGeometry(a.input, a.weight, a.self, a.pad);
  problem.rule = {RoundingOf(a.cube_math_type, a.promoted(), product), !product.inf_nan_mode};
  problem.computations = conv::kBiasFromOutput;
  lowered.Bind(Role::kOutput, a.self, kTbcAxes);
  lowered.Bind(Role::kBiasResult, a.grad_bias, kBiasAxes);
  if (a.input.empty() || a.weight.empty()) {
    // The sum over self is all that is left, and it has nothing to do with the kernel.
    problem.geometry.input_channels = 1;
    problem.geometry.kernel = {1, 1, 1};
    problem.geometry.input_size = problem.geometry.output_size;
    problem.geometry.pad_begin = {};
    lowered.BindZeros(a.grad_input);
    lowered.BindZeros(a.grad_weight);
    return lowered;
  }
  problem.computations |= conv::kBackwardData | conv::kBackwardWeights;
  lowered.Bind(Role::kInput, a.input, kTbcAxes);
  lowered.Bind(Role::kWeight, a.weight, kTbcWeightAxes);
  lowered.Bind(Role::kInputResult, a.grad_input, kTbcAxes);
  lowered.Bind(Role::kWeightResult, a.grad_weight, kTbcWeightAxes);
  JoinStepsAndImages(&problem);
  return lowered;
}

}  // namespace canopy::opapi::conv_tbc_backward
