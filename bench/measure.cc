// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "bench/describe.h"
#include "bench/machine.h"
#include "bench/shared_data.h"
#include "bench/statistics.h"
#include "bench/ways.h"

namespace canopy::bench {
namespace {

using conv::CallTensor;
using nlohmann::json;

// After an implementation's last region its threads spin for some milliseconds (libgomp's for about twelve), on
// processors that the next one needs.
constexpr auto kSettle = std::chrono::milliseconds(15);
constexpr double kSlack = 1.25;  // after the first round
// A processor that has slept runs slower for tens of milliseconds: without this whatever is timed first would pay.
constexpr double kWakeSeconds = 0.1;

using Results = std::map<CallTensor, std::vector<float>>;

std::vector<std::string> Strings(const json& ways, const char* part) {
  return ways.contains(part) ? ways.at(part).get<std::vector<std::string>>() : std::vector<std::string>{};
}

// One worker on one case.
class Contestant {
 public:
  Contestant(Worker* worker, const BenchCase& a_case, size_t index, const SharedData& data) : worker_(worker) {
    measured_.name = worker->name();
    try {
      const json answer = worker->Ask(
          {{"do", "prepare"}, {"index", index}, {"path", data.path()}, {"case", Describe(a_case.call, data)}});
      ways_ = answer.at("ways");
      measured_.facts = answer.at("facts");
    } catch (const std::exception& error) {
      Refuse(error.what());
    }
  }

  bool out() const { return !measured_.refusal.empty(); }
  Measured& measured() { return measured_; }

  // Results of one way of the whole call.
  Results Compute(const std::string& way, SharedData* data) {
    data->ClearResults();
    worker_->Ask({{"do", "result"}, {"way", way}});
    Results results;
    for (const CallTensor output : tools::WantedOutputs(data->as_case())) results[output] = data->Read(output);
    return results;
  }

  // Compares each way with Canopy's results and forgets those that are something else.
  void Check(const Results& expected, double tolerance, SharedData* data) {
    for (const auto& [way, call] : WaysToCheck()) {
      if (out()) return;
      try {
        double worst = 0;
        for (const auto& [tensor, values] : Compute(call, data)) {
          worst = std::max(worst, RelativeDifference(values, expected.at(tensor)));
        }
        measured_.differences[way] = worst;
        if (!(worst <= tolerance)) measured_.wrong.push_back(way);
      } catch (const std::exception& error) {
        measured_.wrong.push_back(way);
        if (!worker_->alive()) Refuse(error.what());
      }
    }
    for (json& part : ways_) {
      for (const std::string& way : measured_.wrong) part.erase(std::remove(part.begin(), part.end(), way), part.end());
    }
    const bool none = std::all_of(ways_.begin(), ways_.end(), [](const json& part) { return part.empty(); });
    if (none && !out()) Refuse("none of its ways computes the same");
  }

  void TimeRound(int round, double seconds) {
    std::this_thread::sleep_for(kSettle);
    try {
      Wake();
      for (const What what : kWhats) {
        if (what == What::kCall && !ways_.contains("call")) continue;
        for (const std::string& way : WaysOf(what, round)) Time(what, way, seconds);
      }
      if (ways_.contains("call")) return;
      if (round == 0) combined_ = Combine(MediansOf(What::kData), MediansOf(What::kWeights));
      for (const std::string& way : combined_) Time(What::kCall, way, seconds);
    } catch (const std::exception& error) {
      Refuse(error.what());
    }
  }

  void Drop() {
    if (worker_->alive()) worker_->Ask({{"do", "drop"}});
  }

 private:
  void Refuse(const std::string& reason) {
    measured_.refusal = reason;
    measured_.samples.clear();
  }

  void Wake() {
    const std::string what = std::prev(ways_.end()).key();
    const std::vector<std::string> ways = Strings(ways_, what.c_str());
    if (ways.empty()) return;
    worker_->Ask({{"do", "time"}, {"what", what}, {"way", ways.front()}, {"seconds", kWakeSeconds}});
  }

  void Time(What what, const std::string& way, double seconds) {
    const json answer = worker_->Ask({{"do", "time"}, {"what", WhatName(what)}, {"way", way}, {"seconds", seconds}});
    Samples& samples = measured_.samples[what][way];
    for (const json& value : answer.at("seconds")) samples.push_back(value);
  }

  Medians MediansOf(What what) const {
    Medians medians;
    const auto found = measured_.samples.find(what);
    if (found == measured_.samples.end()) return medians;
    for (const auto& [way, samples] : found->second) medians[way] = Median(samples);
    return medians;
  }

  std::vector<std::string> WaysOf(What what, int round) const {
    if (round == 0) return Strings(ways_, WhatName(what));
    return Promising(MediansOf(what), kSlack);
  }

  // A way, and the whole call by which it is checked: where it serves one part only, the other is computed in any way.
  std::map<std::string, std::string> WaysToCheck() const {
    std::map<std::string, std::string> checks;
    for (const std::string& way : Strings(ways_, "call")) checks[way] = way;
    if (!checks.empty()) return checks;
    const std::vector<std::string> data = Strings(ways_, "data"), weights = Strings(ways_, "weights");
    if (ways_.contains("data") && ways_.contains("weights") && (data.empty() || weights.empty())) return checks;
    const auto has = [](const std::vector<std::string>& all, const std::string& one) {
      return std::find(all.begin(), all.end(), one) != all.end();
    };
    for (const std::string& way : data) {
      checks[way] = weights.empty() || has(weights, way) ? way : way + "+" + weights.front();
    }
    for (const std::string& way : weights) {
      if (!has(data, way)) checks[way] = data.empty() ? way : data.front() + "+" + way;
    }
    return checks;
  }

  Worker* const worker_;
  json ways_ = json::object();
  std::vector<std::string> combined_;
  Measured measured_;
};

}  // namespace

double Tolerance(const std::string& type) {
  if (type == "f32") return 1e-4;
  if (type == "hf32" || type == "f16") return 2e-3;
  return type == "bf16" ? 1e-2 : 2e-1;
}

const std::string& BestWay(const std::map<std::string, Samples>& samples) {
  const auto less = [](const auto& a, const auto& b) { return Median(a.second) < Median(b.second); };
  return std::min_element(samples.begin(), samples.end(), less)->first;
}

CaseResult MeasureCase(const Team& team, const std::vector<BenchCase>& cases, size_t index,
                       const MeasureOptions& options) {
  const BenchCase& a_case = cases[index];
  SharedData data(a_case.call, index + 1);
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (const std::unique_ptr<Worker>& worker : team.workers()) {
    contestants.push_back(std::make_unique<Contestant>(worker.get(), a_case, index, data));
  }
  CaseResult result;
  if (!contestants.front()->out()) {
    const Results expected = contestants.front()->Compute("canopy", &data);
    for (size_t i = 1; i < contestants.size(); ++i) {
      if (!contestants[i]->out()) contestants[i]->Check(expected, Tolerance(a_case.type), &data);
    }
    std::vector<double> peaks;
    for (int round = 0; round < options.rounds; ++round) {
      std::this_thread::sleep_for(kSettle);
      peaks.push_back(MeasurePeakGflops(team.threads()));
      result.exchange_ns = std::max(result.exchange_ns, MeasureExchangeNs(team.threads()));
      for (const auto& contestant : contestants) {
        if (!contestant->out()) contestant->TimeRound(round, options.seconds);
      }
    }
    result.peak_gflops = Median(peaks);
  }
  for (const auto& contestant : contestants) {
    contestant->Drop();
    result.measured.push_back(std::move(contestant->measured()));
  }
  return result;
}

}  // namespace canopy::bench
