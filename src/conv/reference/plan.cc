// SPDX-License-Identifier: Apache-2.0
#include "conv/algorithm.h"
#include "conv/reference/run.h"

namespace canopy::conv::reference {
namespace {

constexpr double kSlowdown = 50;  // against a packed kernel, a term

double Terms(const Geometry& g, Computation computation) {
  double positions = static_cast<double>(g.batch);
  const Extent3& size = computation == kBackwardData || computation == kBiasFromInput ? g.input_size : g.output_size;
  for (int64_t extent : size) positions *= static_cast<double>(extent);
  if (computation == kBiasFromOutput) return positions * static_cast<double>(g.output_channels);
  if (computation == kBiasFromInput) return positions * static_cast<double>(g.input_channels);
  return positions * static_cast<double>(g.output_channels) * static_cast<double>(g.group_input_channels()) *
         static_cast<double>(g.taps());
}

class ReferenceStep : public Step {
 public:
  ReferenceStep(Computation computation, double work) : computation_(computation), work_(work) {}

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger&,
           void*) const noexcept override {
    RunReference(problem, computation_, buffers, work_ < kSerialWork);
  }
  std::string Describe() const override { return "plain loops in double"; }
  double Work() const override { return work_; }

 private:
  Computation computation_;
  double work_;
};

}  // namespace

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger*) {
  return std::make_unique<ReferenceStep>(computation, kSlowdown * Terms(problem.geometry, computation));
}

}  // namespace canopy::conv::reference
