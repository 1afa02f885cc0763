// SPDX-License-Identifier: Apache-2.0
#include "bench/canopy_implementation.h"

#include <chrono>
#include <cstring>
#include <map>

#include "aclnn/acl_meta.h"
#include "bench/lowering.h"
#include "bench/statistics.h"
#include "tools/call_phases.h"
#include "tools/runner.h"

namespace canopy::bench {
namespace {

using conv::CallTensor;
using nlohmann::json;
using tools::Case;

std::string Refusal(int status) { return std::to_string(status) + " " + tools::RecentMessage(); }

// One call, ready for phase 2 again and again.
class Prepared {
 public:
  Prepared(const conv::Call& call, const tools::Storages& storages)
      : case_(tools::CaseOfCall(call)), handles_(case_, storages) {
    int status = handles_.Phase1(&workspace_bytes_, &executor_);
    if (status == 0) status = aclSetAclOpExecutorRepeatable(executor_);
    if (status != 0) throw std::runtime_error(Refusal(status));
    if (workspace_bytes_ > 0) workspace_ = tools::Allocate(workspace_bytes_);
  }
  ~Prepared() { aclDestroyAclOpExecutor(executor_); }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  uint64_t workspace_bytes() const { return workspace_bytes_; }

  void Run(aclrtStream stream) const {
    int status = tools::Phase2(case_.op, workspace_.get(), workspace_bytes_, executor_, stream);
    if (status == 0) status = aclrtSynchronizeStream(stream);
    if (status != 0) throw std::runtime_error(Refusal(status));
  }

  // Microseconds of phase 1 now that the problem has been seen.
  double Phase1Microseconds() const;

 private:
  const Case case_;
  const tools::CallHandles handles_;
  uint64_t workspace_bytes_ = 0;
  aclOpExecutor* executor_ = nullptr;
  tools::DeviceMemory workspace_;
};

double TimePhase1(const tools::CallHandles& handles) {
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const auto begin = std::chrono::steady_clock::now();
  const int status = handles.Phase1(&bytes, &executor);
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - begin;
  if (status != 0) throw std::runtime_error(Refusal(status));
  aclDestroyAclOpExecutor(executor);
  return elapsed.count();
}

double Prepared::Phase1Microseconds() const {
  std::vector<double> samples;
  for (int i = 0; i < 200; ++i) samples.push_back(TimePhase1(handles_));
  return Median(samples);
}

// Microseconds of phase 1 of problems that were never seen: the same layer at batches that nobody asks for. Phase 1
// reads no data, so there are none.
double NewPhase1Microseconds(conv::Call call) {
  constexpr int kProblems = 15;
  std::vector<double> samples;
  for (int i = 0; i < kProblems; ++i) {
    ++call.batch;
    const Case a_case = tools::CaseOfCall(call);
    samples.push_back(TimePhase1(tools::CallHandles(a_case, {})));
  }
  return Median(samples);
}

class Canopy final : public Implementation {
 public:
  std::string Name() override { return "Canopy " CANOPY_VERSION; }

  json Prepare(const BenchCase& a_case, const SharedData& data) override {
    Drop();
    call_ = a_case.call;
    const Case& as_case = data.as_case();
    for (int i = 0; i < conv::kCallTensors; ++i) {
      const CallTensor tensor = static_cast<CallTensor>(i);
      if (!as_case.tensors[i].present) continue;
      storages_[i] = tools::Allocate(data.bytes_of(tensor));
      std::memcpy(storages_[i].get(), data.storage(tensor), data.bytes_of(tensor));
    }
    json ways = json::object();
    for (const What what : kWhats) {
      if (!Offers(call_, what)) continue;
      prepared_[what] = std::make_unique<Prepared>(CallFor(call_, what), storages_);
      ways[WhatName(what)] = json::array({"canopy"});
    }
    const PlanText plan = DescribePlan(call_);
    const Prepared& whole = *prepared_.at(What::kCall);
    return {{"ways", ways},
            {"facts",
             {{"workspace_bytes", whole.workspace_bytes()},
              {"algorithms", plan.algorithms},
              {"plan", plan.whole},
              {"phase1_us", whole.Phase1Microseconds()},
              {"phase1_new_us", NewPhase1Microseconds(call_)}}}};
  }

  std::function<void()> Runner(What what, const std::string&) override {
    const Prepared& prepared = *prepared_.at(what);
    return [this, &prepared] { prepared.Run(runtime_.stream()); };
  }

  void Store(SharedData* data) override {
    for (const CallTensor output : tools::WantedOutputs(data->as_case())) {
      if (!data->as_case().tensor(output).present) continue;
      std::memcpy(data->storage(output), storages_[static_cast<int>(output)].get(), data->bytes_of(output));
    }
  }

  void Drop() override {
    prepared_.clear();
    storages_ = {};
  }

 private:
  const tools::Runtime runtime_;
  conv::Call call_;
  tools::Storages storages_;
  std::map<What, std::unique_ptr<Prepared>> prepared_;
};

}  // namespace

std::unique_ptr<Implementation> MakeCanopy() { return std::make_unique<Canopy>(); }

}  // namespace canopy::bench
