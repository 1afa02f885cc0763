// SPDX-License-Identifier: Apache-2.0
#include "conv/algorithm.h"
#include "conv/channel_sum/run.h"
#include "conv/streams.h"

namespace canopy::conv::channel_sum {
namespace {

// In units of Step::Work, of an element from the caches, from memory, and from a slow L3.
constexpr double kElementWork = 0.35, kFarElementWork = 0.75, kSlowElementWork = 1.05;

double ElementWork(const ConvProblem& problem, Computation computation) {
  // What the steps before read and wrote drives it out of the L2.
  if (L3IsSlow() && OutgrowsL2s(problem, problem.computations)) return kSlowElementWork;
  return OutgrowsCaches(problem, computation) ? kFarElementWork : kElementWork;
}

class ChannelSumStep : public Step {
 public:
  ChannelSumStep(const ConvProblem& problem, Computation computation) : computation_(computation) {
    const Geometry& g = problem.geometry;
    const bool from_output = computation == kBiasFromOutput;
    work_ = static_cast<double>(g.batch) * static_cast<double>(from_output ? g.output_channels : g.input_channels);
    for (int64_t extent : from_output ? g.output_size : g.input_size) work_ *= static_cast<double>(extent);
    work_ *= ElementWork(problem, computation);
  }

  void Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger&,
           void*) const noexcept override {
    RunChannelSum(problem, computation_, buffers, work_ < kSerialWork);
  }
  std::string Describe() const override { return "in the order of memory"; }
  double Work() const override { return work_; }

 private:
  Computation computation_;
  double work_ = 0;
};

}  // namespace

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger*) {
  return std::make_unique<ChannelSumStep>(problem, computation);
}

}  // namespace canopy::conv::channel_sum
