// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "conv/mirrored/mirror.h"
#include "conv/mirrored/ways.h"

namespace canopy::conv::mirrored {
namespace {

// Measured: where they are close, others are faster than what they are compared by says.
constexpr double kOverhead = 1.1;

// That of least work.
const Way* BestWay(const ConvProblem& mirror, Computation computation) {
  const Way* best = nullptr;
  double least = 0;
  for (const Way& way : kWays) {
    if (way.computation != computation || !way.accepts(mirror, computation).empty()) continue;
    plan::WorkspaceLedger tried;
    const double work = way.make(mirror, computation, &tried)->Work();
    if (best != nullptr && work >= least) continue;
    best = &way;
    least = work;
  }
  return best;
}

}  // namespace

// A step of the mirror.
class MirroredStep : public Step {
 public:
  MirroredStep(const ConvProblem& mirror, Computation computation, plan::WorkspaceLedger* ledger)
      : way_(*BestWay(mirror, computation)), step_(way_.make(mirror, computation, ledger)) {}

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override {
    step_->Run(MirrorOf(problem), MirrorOf(buffers, problem), ledger, workspace);
  }

  std::string Describe() const override {
    return std::string("by ") + way_.name + " with input and output exchanged: " + step_->Describe();
  }
  double Work() const override { return kOverhead * step_->Work(); }

 private:
  const Way& way_;
  std::unique_ptr<Step> step_;
};

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  return std::make_unique<MirroredStep>(MirrorOf(problem), MirrorOf(computation), ledger);
}

}  // namespace canopy::conv::mirrored
