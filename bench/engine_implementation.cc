// SPDX-License-Identifier: Apache-2.0
#include "bench/engine_implementation.h"

#include <cstring>
#include <map>
#include <stdexcept>

#include "bench/bytes.h"
#include "bench/lowering.h"
#include "bench/work.h"
#include "conv/algorithm.h"
#include "conv/conv.h"
#include "conv/plan.h"

namespace canopy::bench {
namespace {

using conv::CallTensor;
using nlohmann::json;

constexpr double kReferenceFlops = 50e6;  // beyond, the reference would take seconds and is nobody's choice

What PartOf(const conv::Call& call, conv::Computation computation) {
  if (!IsBackward(call)) return What::kCall;
  if (computation == conv::kBackwardWeights) return What::kWeights;
  return computation == conv::kForward || computation == conv::kBackwardData ? What::kData : What::kBias;
}

// A plan with the memory that it runs on.
struct Runnable {
  std::unique_ptr<conv::Plan> plan;
  Bytes workspace;

  explicit Runnable(std::unique_ptr<conv::Plan> made)
      : plan(std::move(made)), workspace(AllocateBytes(conv::WorkspaceBytes(*plan) + 1)) {}
  void Run(const conv::Buffers& buffers) const {
    conv::Run(*plan, buffers, workspace.get(), plan->problem.rule.saturate);
  }
};

class Engine final : public Implementation {
 public:
  std::string Name() override { return kEngineName; }

  json Prepare(const BenchCase& a_case, const SharedData& data) override {
    Drop();
    call_ = a_case.call;
    Addresses addresses{};
    for (int i = 0; i < conv::kCallTensors; ++i) {
      const CallTensor tensor = static_cast<CallTensor>(i);
      if (!data.as_case().tensors[i].present) continue;
      storages_[i] = AllocateBytes(data.bytes_of(tensor));
      std::memcpy(storages_[i].get(), data.storage(tensor), data.bytes_of(tensor));
      addresses[i] = storages_[i].get() + call_.form(tensor).offset * numerics::ElementBytes(call_.form(tensor).dtype);
    }
    lowering_ = LowerCall(call_, addresses);
    if (lowering_.problem.computations == 0) throw std::runtime_error("nothing to compute");
    json ways = json::object(), chosen = json::object();
    const std::unique_ptr<conv::Plan> whole = conv::BuildPlan(lowering_.problem, nullptr);
    for (const conv::PlannedStep& planned : whole->steps) {
      const std::string name = planned.algorithm->name;
      const bool joint = (planned.computations & (planned.computations - 1)) != 0;
      if (joint) chosen[WhatName(What::kCall)] = name + "+" + name;
      for (const conv::Computation computation : conv::kAllComputations) {
        if ((planned.computations & computation) == 0) continue;
        const What part = PartOf(call_, computation);
        if (!joint) chosen[WhatName(part)] = name;
        AddAlgorithms(computation, part);
        if (runnables_[part].empty()) throw std::runtime_error("only the reference serves, which would take too long");
        for (const auto& [way, runnable] : runnables_[part]) ways[WhatName(part)].push_back(way);
      }
    }
    AddJointAlgorithms();
    return {{"ways", ways}, {"facts", {{"chosen", chosen}}}};
  }

  std::function<void()> Runner(What what, const std::string& way) override {
    if (what != What::kCall || !IsBackward(call_)) {
      const Runnable& runnable = runnables_.at(what).at(way);
      return [this, &runnable] { runnable.Run(lowering_.buffers); };
    }
    // "X+Y", or one name for whatever parts there are; a bias gradient by its first way, or with the others.
    std::vector<const Runnable*> parts;
    const size_t plus = way.find('+');
    const auto joint = joint_.find(way.substr(0, plus));
    if (joint != joint_.end() && way == joint->first + "+" + joint->first) {
      return [this, joint] { joint->second.Run(lowering_.buffers); };
    }
    if (runnables_.contains(What::kData)) parts.push_back(&runnables_.at(What::kData).at(way.substr(0, plus)));
    if (runnables_.contains(What::kWeights)) {
      parts.push_back(&runnables_.at(What::kWeights).at(plus == way.npos ? way : way.substr(plus + 1)));
    }
    if (runnables_.contains(What::kBias)) parts.push_back(&runnables_.at(What::kBias).begin()->second);
    return [this, parts] {
      for (const Runnable* part : parts) part->Run(lowering_.buffers);
    };
  }

  void Store(SharedData* data) override {
    for (const CallTensor output : tools::WantedOutputs(data->as_case())) {
      if (!data->as_case().tensor(output).present) continue;
      std::memcpy(data->storage(output), storages_[static_cast<int>(output)].get(), data->bytes_of(output));
    }
  }

  void Drop() override {
    runnables_.clear();
    joint_.clear();
    for (Bytes& storage : storages_) storage.reset();
  }

 private:
  void AddAlgorithms(conv::Computation computation, What part) {
    conv::ConvProblem problem = lowering_.problem;
    problem.computations = computation;
    const double flops = WorkOf(call_, Offers(call_, part) ? part : What::kCall).flops;
    for (int i = 0; i < conv::kAlgorithmCount; ++i) {
      const conv::Algorithm& algorithm = conv::kAlgorithms[i];
      const bool reference = i == conv::kAlgorithmCount - 1;
      if ((reference && flops > kReferenceFlops) || !algorithm.accepts(problem, computation).empty()) continue;
      runnables_[part].try_emplace(algorithm.name, conv::BuildPlan(problem, algorithm.name));
    }
  }

  void AddJointAlgorithms() {
    for (int i = 0; i < conv::kAlgorithmCount; ++i) {
      const conv::Algorithm& algorithm = conv::kAlgorithms[i];
      const auto all = static_cast<conv::Computation>(lowering_.problem.computations);
      if (!algorithm.joint || (all & (all - 1)) == 0 || !algorithm.accepts(lowering_.problem, all).empty()) continue;
      joint_.try_emplace(algorithm.name, conv::BuildPlan(lowering_.problem, algorithm.name));
    }
  }

  conv::Call call_;
  Lowering lowering_;
  std::array<Bytes, conv::kCallTensors> storages_;
  std::map<What, std::map<std::string, Runnable>> runnables_;
  std::map<std::string, Runnable> joint_;  // those that compute everything in one pass
};

}  // namespace

std::unique_ptr<Implementation> MakeEngine() { return std::make_unique<Engine>(); }

}  // namespace canopy::bench
