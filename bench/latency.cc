// SPDX-License-Identifier: Apache-2.0
#include "bench/latency.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "bench/bytes.h"
#include "bench/lowering.h"
#include "bench/statistics.h"
#include "conv/conv.h"
#include "conv/plan.h"
#include "tools/call_phases.h"
#include "tools/runner.h"

namespace canopy::bench {
namespace {

using conv::CallTensor;

// Longer than any thread of the library stays awake for want of work.
constexpr std::chrono::milliseconds kRest{10};
// A sample of a rested call takes a rest.
constexpr int kMostRestedSamples = 100;
// As many as the library remembers would push out the call that is measured.
constexpr int kMostNewProblems = 500;

double Microseconds(std::chrono::steady_clock::duration elapsed) {
  return std::chrono::duration<double, std::micro>(elapsed).count();
}

template <typename Step>
double Time(Step&& step) {
  const auto begin = std::chrono::steady_clock::now();
  step();
  return Microseconds(std::chrono::steady_clock::now() - begin);
}

void Require(int status) {
  if (status != 0) throw std::runtime_error(std::to_string(status) + " " + tools::RecentMessage());
}

// What one call took.
struct Steps {
  double phase1, phase2, synchronise;
};

// A call with its tensors, through the public library.
class Caller {
 public:
  explicit Caller(const conv::Call& call) : case_(tools::CaseOfCall(call)) {
    for (int i = 0; i < conv::kCallTensors; ++i) {
      if (!case_.tensors[i].present) continue;
      const uint64_t bytes = static_cast<uint64_t>(tools::StorageElements(case_.tensors[i])) * sizeof(float);
      storages_[i] = tools::Allocate(bytes);
      std::memset(storages_[i].get(), 0, bytes);
    }
    handles_ = std::make_unique<tools::CallHandles>(case_, storages_);
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    Require(handles_->Phase1(&bytes, &executor));
    aclDestroyAclOpExecutor(executor);
    if (bytes > 0) workspace_ = tools::Allocate(bytes);
  }

  Addresses addresses() const {
    Addresses addresses{};
    for (int i = 0; i < conv::kCallTensors; ++i) {
      if (storages_[i] == nullptr) continue;
      addresses[i] = static_cast<char*>(storages_[i].get()) + case_.tensors[i].offset * ElementBytes(i);
    }
    return addresses;
  }

  double TimeHandles() const {
    return Time([this] { tools::CallHandles(case_, storages_); });
  }

  Steps TimeCall() const {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    int phase1 = 0, phase2 = 0, synchronised = 0;
    const Steps steps{Time([&] { phase1 = handles_->Phase1(&bytes, &executor); }), Time([&] {
                        phase2 = tools::Phase2(case_.op, workspace_.get(), bytes, executor, runtime_.stream());
                      }),
                      Time([&] { synchronised = aclrtSynchronizeStream(runtime_.stream()); })};
    for (const int status : {phase1, phase2, synchronised}) Require(status);
    return steps;
  }

 private:
  int64_t ElementBytes(int tensor) const {
    numerics::DType type{};
    tools::ToDType(case_.tensors[tensor].dtype, &type);
    return numerics::ElementBytes(type);
  }

  const tools::Runtime runtime_;
  const tools::Case case_;
  tools::Storages storages_;
  std::unique_ptr<tools::CallHandles> handles_;
  tools::DeviceMemory workspace_;
};

// Phase 1 reads no data, so these calls have none.
double TimeNewPhase1(const conv::Call& call) {
  const tools::Case a_case = tools::CaseOfCall(call);
  const tools::CallHandles handles(a_case, {});
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  int status = 0;
  const double microseconds = Time([&] { status = handles.Phase1(&bytes, &executor); });
  Require(status);
  aclDestroyAclOpExecutor(executor);
  return microseconds;
}

std::vector<double> TimeEngine(const conv::Call& call, const Addresses& addresses, int samples) {
  const Lowering lowering = LowerCall(call, addresses);
  if (lowering.problem.computations == 0) return {0};
  std::shared_ptr<const conv::Plan> plan;
  const base::Status status = conv::MakePlan(lowering.problem, &plan);
  if (!status.ok()) throw std::runtime_error(status.message());
  const Bytes workspace = AllocateBytes(conv::WorkspaceBytes(*plan) + 1);
  std::vector<double> times;
  for (int i = 0; i < samples; ++i) {
    times.push_back(Time([&] { conv::Run(*plan, lowering.buffers, workspace.get(), lowering.problem.rule.saturate); }));
  }
  return times;
}

// Adds one call's steps to the lines that begin at `first`.
void Add(const Steps& steps, std::vector<Latency>* latencies, size_t first) {
  const double values[] = {steps.phase1, steps.phase2, steps.synchronise, steps.phase2 + steps.synchronise};
  for (const double value : values) (*latencies)[first++].microseconds.push_back(value);
}

}  // namespace

std::vector<Latency> MeasureLatencies(const conv::Call& call, int samples) {
  std::vector<Latency> latencies{{"phase 1 of a problem seen before", {}},
                                 {"phase 2", {}},
                                 {"synchronise", {}},
                                 {"phase 2 and synchronise", {}},
                                 {"  of which compute", {}},
                                 {"phase 1 of a new problem", {}},
                                 {"handles, made and destroyed", {}},
                                 {"after a rest: phase 1", {}},
                                 {"after a rest: phase 2", {}},
                                 {"after a rest: synchronise", {}},
                                 {"after a rest: phase 2 and synchronise", {}}};
  const Caller caller(call);
  for (int i = 0; i < samples; ++i) Add(caller.TimeCall(), &latencies, 0);
  latencies[4].microseconds = TimeEngine(call, caller.addresses(), samples);
  for (int i = 0; i < std::min(samples, kMostNewProblems); ++i) {
    latencies[5].microseconds.push_back(TimeNewPhase1(SimilarCall(call, i)));
  }
  for (int i = 0; i < samples; ++i) latencies[6].microseconds.push_back(caller.TimeHandles());
  for (int i = 0; i < std::min(samples, kMostRestedSamples); ++i) {
    std::this_thread::sleep_for(kRest);
    Add(caller.TimeCall(), &latencies, 7);
  }
  return latencies;
}

conv::Call SimilarCall(conv::Call call, int index) {
  const int variation = index + 1;
  call.batch += variation % 8;
  call.input_size.front() += variation / 8 % 8;
  call.input_size.back() += variation / 64 * 8;
  return call;
}

std::string LatencyTable(const std::vector<Latency>& latencies) {
  std::string table;
  char line[80];
  std::snprintf(line, sizeof line, "%-40s %8s %8s\n", "microseconds", "10%", "median");
  table += line;
  for (const Latency& latency : latencies) {
    std::snprintf(line, sizeof line, "%-40s %8.2f %8.2f\n", latency.step.c_str(), Percentile(latency.microseconds, 10),
                  Median(latency.microseconds));
    table += line;
  }
  return table;
}

}  // namespace canopy::bench
