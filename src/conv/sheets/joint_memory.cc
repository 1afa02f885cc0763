// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/joint_memory.h"

#include <new>

#include "conv/elements.h"
#include "exec/pool.h"

namespace canopy::conv::sheets {

int64_t JointBytes(const ConvProblem& problem, uint8_t computations) {
  const Geometry& g = problem.geometry;
  const auto bytes = [&](const Operand& operand, const Extent3& size) {
    return g.batch * g.groups * Volume(size) * numerics::ElementBytes(operand.dtype);
  };
  return bytes(problem.output, g.output_size) +
         ((computations & kBackwardWeights) != 0 ? bytes(problem.input, g.input_size) : 0) +
         ((computations & kBackwardData) != 0 ? bytes(problem.input_result, g.input_size) : 0);
}

void JointWorkspace::Book(int64_t weights, int64_t sums, int64_t thread, plan::WorkspaceLedger* ledger) {
  const int64_t floats = static_cast<int64_t>(sizeof(float));
  weights_ = ledger->Book("weights", weights * floats);
  sums_ = ledger->Book("gradients", sums * floats);
  flag_ = ledger->Book("flag", static_cast<int64_t>(sizeof(std::atomic<int>)));
  scratch_ = ledger->BookEach("sheets", thread * floats, exec::ThreadCount());
}

JointMemory JointWorkspace::Fetch(const plan::WorkspaceLedger& ledger, void* workspace) const {
  JointMemory memory;
  memory.weights = static_cast<float*>(ledger.Fetch(workspace, weights_));
  memory.sums = static_cast<float*>(ledger.Fetch(workspace, sums_));
  memory.scratch = static_cast<float*>(ledger.Fetch(workspace, scratch_));
  memory.nonfinite = new (ledger.Fetch(workspace, flag_)) std::atomic<int>(0);
  return memory;
}

}  // namespace canopy::conv::sheets
