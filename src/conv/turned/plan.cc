// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "conv/algorithm_steps.h"
#include "conv/turned/turn.h"

namespace canopy::conv::turned {
namespace {

// In units of Step::Work: so much more a product of a microsecond takes here than in the algorithms made for such.
constexpr double kWorkAStep = 1000;
constexpr double kWeightsWork = 0.95;  // measured: their sums are long, and pointwise counts for short ones
constexpr double kWorkAWeight = 0.25;  // storing an FP32 one, which pointwise does not count: its sums are longer

double WorkOf(const Turn& turn, Computation computation, double product) {
  if (computation != kBackwardWeights) return kWorkAStep + product;
  const Geometry& g = turn.problem.geometry;
  const bool plain = turn.problem.input_result.dtype == numerics::DType::kFloat32;
  const double stored = plain ? static_cast<double>(g.input_channels * g.input_size[2]) : 0;
  return kWorkAStep + product * kWeightsWork + stored * kWorkAWeight;
}

}  // namespace

// A step of the turned problem.
class TurnedStep : public Step {
 public:
  TurnedStep(const Turn& turn, Computation computation, plan::WorkspaceLedger* ledger)
      : turn_(turn),
        step_(pointwise::MakeStep(turn.problem, turn.computation, ledger)),
        work_(WorkOf(turn, computation, step_->Work())) {}

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
           void* workspace) const noexcept override {
    ConvProblem turned = turn_.problem;
    turned.rule.saturate = problem.rule.saturate;
    step_->Run(turned, turn_.Of(buffers), ledger, workspace);
  }

  std::string Describe() const override {
    const Geometry& g = turn_.problem.geometry;
    return "as " + std::to_string(g.input_channels) + " by " + std::to_string(g.output_channels) + " channels of " +
           std::to_string(g.input_size[2]) + " pixels: " + step_->Describe();
  }
  double Work() const override { return work_; }

 private:
  Turn turn_;
  std::unique_ptr<Step> step_;
  double work_;
};

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  return std::make_unique<TurnedStep>(*MakeTurn(problem, computation), computation, ledger);
}

}  // namespace canopy::conv::turned
