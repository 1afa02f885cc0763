// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>

#include "conv/mirrored/mirror.h"
#include "conv/mirrored/ways.h"

namespace canopy::conv::mirrored {
namespace {

// Measured: where they are close, others are faster than what they are compared by says.
constexpr double kOverhead = 1.1;

}  // namespace

// A step of the mirror: of the ways that accept it, that of least work.
class MirroredStep : public Step {
 public:
  MirroredStep(const ConvProblem& mirror, Computation computation, plan::WorkspaceLedger* ledger) {
    const plan::WorkspaceLedger before = *ledger;
    for (const Way& way : kWays) {
      if (way.computation != computation || !way.accepts(mirror, computation).empty()) continue;
      plan::WorkspaceLedger booked = before;
      std::unique_ptr<Step> step = way.make(mirror, computation, &booked);
      if (step_ != nullptr && step->Work() >= step_->Work()) continue;
      name_ = way.name;
      step_ = std::move(step);
      *ledger = std::move(booked);
    }
  }

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override {
    step_->Run(MirrorOf(problem), MirrorOf(buffers, problem), ledger, workspace);
  }

  std::string Describe() const override {
    return std::string("by ") + name_ + " with input and output exchanged: " + step_->Describe();
  }
  double Work() const override { return kOverhead * step_->Work(); }

 private:
  const char* name_ = nullptr;
  std::unique_ptr<Step> step_;
};

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  return std::make_unique<MirroredStep>(MirrorOf(problem), MirrorOf(computation), ledger);
}

}  // namespace canopy::conv::mirrored
