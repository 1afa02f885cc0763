// SPDX-License-Identifier: Apache-2.0
#include "bench/serve.h"

#include <chrono>
#include <cstdio>
#include <memory>

namespace canopy::bench {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

double Since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Server {
 public:
  Server(Implementation* implementation, const std::vector<BenchCase>& cases)
      : implementation_(implementation), cases_(cases) {}

  json Answer(const json& question) {
    const std::string verb = question.at("do");
    if (verb == "hello") return {{"name", implementation_->Name()}};
    if (verb == "prepare") return Prepare(question);
    if (verb == "result") {
      implementation_->Runner(What::kCall, question.at("way"))();
      implementation_->Store(data_.get());
      return json::object();
    }
    if (verb == "time") {
      const std::function<void()> run =
          implementation_->Runner(WhatOfName(question.at("what")), question.at("way").get<std::string>());
      return {{"seconds", TimeRuns(run, question.at("seconds"))}};
    }
    implementation_->Drop();
    data_.reset();
    return json::object();
  }

 private:
  json Prepare(const json& question) {
    const BenchCase& a_case = cases_.at(question.at("index").get<size_t>());
    data_ = std::make_unique<SharedData>(a_case.call, question.at("path").get<std::string>());
    return implementation_->Prepare(a_case, *data_);
  }

  Implementation* const implementation_;
  const std::vector<BenchCase>& cases_;
  std::unique_ptr<SharedData> data_;
};

}  // namespace

std::vector<double> TimeRuns(const std::function<void()>& run, double seconds) {
  constexpr double kWarmSeconds = 0.005;  // the clock and the threads are up, the caches hold what they will hold
  constexpr double kSlow = 1;             // one run of such a case is enough
  constexpr size_t kLeast = 3, kMost = 2000;
  const Clock::time_point warm = Clock::now();
  do {
    run();
  } while (Since(warm) < kWarmSeconds);
  const size_t least = Since(warm) > kSlow ? 1 : kLeast;
  std::vector<double> samples;
  const Clock::time_point begin = Clock::now();
  while (samples.size() < least || (samples.size() < kMost && Since(begin) < seconds)) {
    const Clock::time_point start = Clock::now();
    run();
    samples.push_back(Since(start));
  }
  return samples;
}

void Serve(Implementation* implementation, const std::vector<BenchCase>& cases, int socket) {
  std::FILE* in = fdopen(socket, "r");
  Server server(implementation, cases);
  char* line = nullptr;
  size_t room = 0;
  while (in != nullptr && getline(&line, &room, in) > 0) {
    json answer;
    try {
      answer = server.Answer(json::parse(line));
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    dprintf(socket, "%s\n", answer.dump().c_str());
  }
}

}  // namespace canopy::bench
