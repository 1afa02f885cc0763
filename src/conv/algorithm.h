// SPDX-License-Identifier: Apache-2.0
// What an algorithm is to the planner: a name, a condition in words, and a step to run.
#ifndef CANOPY_CONV_ALGORITHM_H_
#define CANOPY_CONV_ALGORITHM_H_

#include <memory>
#include <string>
#include <string_view>

#include "conv/problem.h"
#include "plan/workspace_ledger.h"

namespace canopy::conv {

// One computation of a plan, or several in one pass, ready to run. Immutable.
class Step {
 public:
  virtual ~Step() = default;

  // Computes; allocates nothing. `workspace` is the caller's, to be asked through `ledger`. `problem` is the planned
  // one, but whether it saturates is known only now.
  virtual void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept = 0;

  // Blocking and partition, for people; one line.
  virtual std::string Describe() const = 0;

  // Time on one core in multiply-adds of kWorkLanes lanes (work.h), tails, packing and waste included: decides between
  // algorithms, and whether a parallel region is worth opening.
  virtual double Work() const = 0;
};

struct Algorithm {
  const char* name;
  // It rounds more than the definition's own products do: docs/accuracy.md.
  bool fast;
  // It serves several computations in one step too: `computation` below may then be a union of them.
  bool joint;
  // Empty when this algorithm serves `computation` of `problem`; else the unmet condition, in words that last.
  std::string_view (*accepts)(const ConvProblem& problem, Computation computation);
  // REQUIRES: accepts() was empty. Books its workspace in `ledger`.
  std::unique_ptr<Step> (*make_step)(const ConvProblem& problem, Computation computation,
                                     plan::WorkspaceLedger* ledger);
};

// Every algorithm; the cheapest that accepts serves. The first of equals wins; the reference is last and serves only
// where no other does.
extern const Algorithm kAlgorithms[];
extern const int kAlgorithmCount;

// Work, in the units of Step::Work, below which a computation stays on one thread: 6 to 13 microseconds.
inline constexpr double kSerialWork = 50e3;

// Work of a problem, likewise, that a thread which waits for it had better do itself: 20 to 40 microseconds.
inline constexpr double kSmallWork = 150e3;

// Work of a problem, likewise, below which it counts what handing it to another thread takes, 50 to 100 microseconds:
// about 10 milliseconds on one thread.
inline constexpr double kBriefWork = 75e6;

}  // namespace canopy::conv

#endif  // CANOPY_CONV_ALGORITHM_H_
