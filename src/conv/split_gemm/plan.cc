// SPDX-License-Identifier: Apache-2.0
#include "conv/split_gemm/data_step.h"
#include "conv/split_gemm/weights_step.h"

namespace canopy::conv::split_gemm {

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  if ((computation & kBackwardWeights) != 0) return std::make_unique<WeightsStep>(problem, computation, ledger);
  return std::make_unique<DataStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::split_gemm
