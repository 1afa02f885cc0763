// SPDX-License-Identifier: Apache-2.0
#include "opapi/conv_tbc/lower.h"

#include "opapi/cube_math.h"
#include "opapi/tbc.h"

namespace canopy::opapi::conv_tbc {

Lowered Lower(const Arguments& a, const product::Product& product) {
  Lowered lowered;
  if (a.output.empty()) return lowered;
  // An empty self or weight stays in the problem: no term is left and the bias remains.
  lowered.problem.geometry = TbcGeometry(a.self, a.weight, a.output, a.pad);
  lowered.problem.rule = {RoundingOf(a.cube_math_type, a.self.view.dtype, product), !product.inf_nan_mode};
  lowered.problem.computations = conv::kForward;
  lowered.problem.has_bias = true;
  lowered.Bind(Role::kInput, a.self, kTbcAxes);
  lowered.Bind(Role::kWeight, a.weight, kTbcWeightAxes);
  lowered.Bind(Role::kBias, a.bias, kBiasAxes);
  lowered.Bind(Role::kOutputResult, a.output, kTbcAxes);
  JoinStepsAndImages(&lowered.problem);
  return lowered;
}

}  // namespace canopy::opapi::conv_tbc
