// SPDX-License-Identifier: Apache-2.0
// What a case's outputs should be, in double precision: the operator's tensors laid over the oracle's three.
#ifndef CANOPY_TOOLS_REFERENCE_H_
#define CANOPY_TOOLS_REFERENCE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "tests/oracle/definition.h"
#include "tools/case.h"
#include "tools/precision.h"

namespace canopy::tools {

using InputValues = std::array<std::vector<float>, kCallTensors>;

class Reference {
 public:
  // Keeps `inputs`, rounded where the precision asks for it. REQUIRES: phase 1 has accepted the case.
  Reference(const Case& a_case, InputValues inputs, const Precision& precision);

  // One element, straight from its sum. `index` counts the output's logical elements.
  double At(CallTensor output, int64_t index) const { return SumAt(output, index, oracle::Sum::kTerms); }
  // The size that the element would have, were the signs of its terms random.
  double TermNormAt(CallTensor output, int64_t index) const;
  std::vector<double> Whole(CallTensor output) const;

  // The most terms that an element of this output sums.
  int64_t Terms(CallTensor output) const;
  // Two for each multiply-add of the outputs asked for, one for each element summed into a bias gradient.
  double Flops() const;

 private:
  enum class Role { kImage, kResponse, kWeight, kBiasGradient, kZero };

  Role RoleOf(CallTensor output) const;
  double SumAt(CallTensor output, int64_t index, oracle::Sum sum) const;
  oracle::Array ArrayOf(CallTensor tensor) const;
  oracle::Index5 Split(CallTensor tensor, int64_t index) const;
  const TensorSpec& SpecOf(CallTensor tensor) const { return case_.tensor(tensor); }
  double BiasAt(CallTensor output, const oracle::Index5& index) const;

  const Case& case_;
  InputValues inputs_;
  std::vector<float> plain_grad_output_;  // unrounded, for the bias gradient, where that differs
  oracle::Geometry geometry_;
  // Tensors that play image and response; the other two arguments of each sum follow.
  CallTensor image_;
  CallTensor response_;
};

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_REFERENCE_H_
