// SPDX-License-Identifier: Apache-2.0
// The engine's whole surface to the doors: a problem becomes a plan, a plan runs over buffers.
#ifndef CANOPY_CONV_CONV_H_
#define CANOPY_CONV_CONV_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "conv/problem.h"

namespace canopy::conv {

class Plan;  // an immutable value; see plan.h

// The plan for `problem`, from the bounded cache where it was planned before. Depends on the problem, the CPU's facts
// and the thread count only. Extents may be 0: results that no term reaches are 0 (or the bias).
// REQUIRES: the geometry is consistent and no product of its extents overflows (the checks have seen to it).
// Refuses only when the workspace's size overflows or there is no memory for the plan (561103).
base::Status MakePlan(const ConvProblem& problem, std::shared_ptr<const Plan>* plan);

// Bytes Run needs as workspace; 0 is possible. The workspace may have any alignment.
uint64_t WorkspaceBytes(const Plan& plan);

// So short that the thread which waits had better run it, whatever else runs.
bool IsSmall(const Plan& plan);

// So soon done that it is cheaper to run in the thread that waits, where nothing else runs.
bool IsBrief(const Plan& plan);

// Threads that Run uses, where no other region is open.
int ThreadCount(const Plan& plan);

// For people: algorithms, blocking, partition, workspace ledger; several lines.
std::string Describe(const Plan& plan);

// Algorithm names only, one for each computation, comma separated, for one-line logs
// ("implicit_gemm,implicit_gemm,channel_sum").
std::string AlgorithmNames(const Plan& plan);

// Computes every wanted result, synchronously, allocating nothing; touches only the operands' elements and the
// workspace. Several threads may run one plan at once with different workspaces. `saturate` stands in for the
// problem's: a stream decides it, and the stream is known only now.
void Run(const Plan& plan, const Buffers& buffers, void* workspace, bool saturate) noexcept;

}  // namespace canopy::conv

#endif  // CANOPY_CONV_CONV_H_
