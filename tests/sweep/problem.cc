// SPDX-License-Identifier: Apache-2.0
#include "tests/sweep/problem.h"

#include <string>

#include "product/product.h"
#include "tests/sweep/draw.h"

namespace canopy::sweep {

void AddMargins(tools::Case* problem) {
  constexpr int64_t kMargin = 67;  // more than a vector of any type, and odd
  for (tools::TensorSpec& spec : problem->tensors) {
    if (!spec.present) continue;
    spec.offset += kMargin;
    spec.storage = {tools::StorageElements(spec) + kMargin};
  }
}

namespace {

Generation TheGeneration() {
  switch (product::CurrentProduct()->arch) {
    case product::Arch::k1001:
    case product::Arch::k2002:
      return Generation::kFirst;
    case product::Arch::k3510:
      return Generation::kThird;
    default:
      return Generation::kSecond;
  }
}

}  // namespace

tools::Case MakeProblem(uint64_t seed, double max_work) {
  using Kind = tools::DataSpec::Kind;
  Dice dice(seed);
  tools::Case problem = tools::CaseOfCall(DrawCall(&dice, max_work, TheGeneration()));
  // Balanced, all of one sign (long sums grow), far from zero, and of large range.
  const tools::DataSpec data = dice.OneOf(std::vector<tools::DataSpec>{{Kind::kUniform, -1, 1},
                                                                       {Kind::kUniform, -1, 1},
                                                                       {Kind::kUniform, 0, 1},
                                                                       {Kind::kNormal, 0.5, 1},
                                                                       {Kind::kUniform, -5, 5}});
  for (tools::TensorSpec& spec : problem.tensors) spec.data = data;
  AddMargins(&problem);
  problem.id = "seed " + std::to_string(seed) + ": " + problem.text;
  return problem;
}

}  // namespace canopy::sweep
