// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "bench/latency.h"
#include "bench/load.h"
#include "bench/record.h"
#include "bench/statistics.h"
#include "bench/team.h"
#include "bench/worker.h"
#include "kernels/dispatch.h"

namespace canopy::bench {
namespace {

using nlohmann::json;

struct Options {
  std::vector<std::string> sources;
  std::vector<int> threads{1, 2};
  LoadOptions load;
  std::vector<std::string> peers{"onednn", "torch"};
  MeasureOptions measure;
  TeamOptions team;
  std::string out;
  bool tune = false;
  bool plans = false;
  bool list = false;
  bool latency = false;
};

void AddOptions(CLI::App* app, Options* options) {
  app->add_option("problems", options->sources, "Lists (text lines or .jsonl), or single problems in quotes");
  app->add_option("--threads", options->threads, "Numbers of threads")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app->add_option("--types", options->load.types, "f32, hf32, bf16, f16, ...; default: as the lists say")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check([](const std::string& type) { return IsType(type) ? "" : "no such type: " + type; });
  app->add_option("--filter", options->load.filter, "Only cases whose name, class or text contains this");
  app->add_option("--peers", options->peers, "onednn, torch, or none")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"onednn", "torch", "none"}))
      ->capture_default_str();
  app->add_option("--rounds", options->measure.rounds, "Rounds over all implementations, for each case")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app->add_option("--seconds", options->measure.seconds, "For each way of each part, a round")
      ->check(CLI::Range(0.0, 60.0))
      ->capture_default_str();
  app->add_option("--out", options->out, "File of JSON lines for report.py");
  app->add_option("--torch-peer", options->team.torch_peer, "Path of torch_peer.py")->capture_default_str();
  app->add_flag(
      "--tune", options->tune,
      "Time each algorithm alone and show where the plan's choice is not the fastest; other peers on request");
  app->add_flag("--plans", options->plans, "Show Canopy's whole plan of each case");
  app->add_flag("--list", options->list, "Show the cases and time nothing");
  app->add_flag("--latency", options->latency,
                "Time each step of a call alone, in one process; without problems, of a tiny one");
}

std::vector<BenchCase> Load(const Options& options) {
  std::vector<BenchCase> cases;
  for (const std::string& source : options.sources) {
    for (BenchCase& a_case : LoadCases(source, options.load)) cases.push_back(std::move(a_case));
  }
  if (cases.empty()) {
    const std::string& filter = options.load.filter;
    throw std::runtime_error(filter.empty() ? "nothing to time: the lists hold calls only that must be refused"
                                            : "nothing to time: --filter was \"" + filter +
                                                  "\"; allowed is part of some case's name, class or text");
  }
  return cases;
}

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

// Everything measured before the first case.
json MeasureMachine(const Options& options, std::map<int, Bandwidth>* bandwidths) {
  const char* target = kernels::TargetName(kernels::MachineTargets().front());
  json machine = {{"cpu", CpuModel()}, {"target", target}, {"by_threads", json::array()}};
  for (const int threads : options.threads) {
    std::vector<double> peaks, dots;
    for (int i = 0; i < 15; ++i) {
      peaks.push_back(MeasurePeakGflops(threads));
      dots.push_back(MeasureBf16Gflops(threads));
    }
    const Bandwidth& bandwidth = bandwidths->emplace(threads, Bandwidth::Measure(threads)).first->second;
    json points = json::array();
    std::printf("%d thread%s: %.0f GFLOP/s of FP32 multiply-adds (%s), %.0f of BF16 dot products; reads, GB/s:",
                threads, threads == 1 ? "" : "s", Median(peaks), target, Median(dots));
    for (const Bandwidth::Point& point : bandwidth.points()) {
      points.push_back({point.bytes, point.gigabytes_per_second});
      std::printf(" %.0f (%.0f MiB)", point.gigabytes_per_second, point.bytes / (1 << 20));
    }
    std::printf("\n");
    machine["by_threads"].push_back(
        {{"threads", threads}, {"peak_gflops", Median(peaks)}, {"bf16_gflops", Median(dots)}, {"reads", points}});
  }
  return machine;
}

void PrintLatencies(const std::vector<BenchCase>& cases, int threads) {
  constexpr int kSamples = 2000;
  SetThreads(threads);
  for (const BenchCase& a_case : cases) {
    std::printf("%s, %d thread%s\n%s", conv::FormatCall(a_case.call).c_str(), threads, threads == 1 ? "" : "s",
                LatencyTable(MeasureLatencies(a_case.call, kSamples)).c_str());
  }
}

// A process for each number of threads, which is not changed where something has computed.
int ReportLatencies(const std::vector<BenchCase>& cases, const std::vector<int>& threads) {
  for (const int count : threads) {
    std::fflush(stdout);
    const pid_t process = fork();
    if (process < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    if (process == 0) {
      int code = 2;
      try {
        PrintLatencies(cases, count);
        code = 0;
      } catch (const std::exception& error) {
        std::fprintf(stderr, "canopy-bench: %s\n", error.what());
      }
      std::fflush(stdout);
      _exit(code);
    }
    int status = 0;
    waitpid(process, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 2;
  }
  return 0;
}

int Run(const Options& options, const std::string& command) {
  const std::vector<BenchCase> cases = Load(options);
  if (options.list) {
    for (const BenchCase& a_case : cases) {
      std::printf("%dx %s [%s] %s\n", a_case.times, a_case.name.c_str(), a_case.class_name.c_str(),
                  conv::FormatCall(a_case.call).c_str());
    }
    return 0;
  }
  if (options.latency) return ReportLatencies(cases, options.threads);
  std::map<int, Bandwidth> bandwidths;
  json header = {{"command", command}, {"machine", MeasureMachine(options, &bandwidths)}};
  std::vector<std::unique_ptr<Team>> teams;
  for (const int threads : options.threads) teams.push_back(std::make_unique<Team>(threads, cases, options.team));
  for (const std::unique_ptr<Worker>& worker : teams.front()->workers()) {
    header["implementations"].push_back(worker->name());
  }
  std::ofstream out;
  if (!options.out.empty()) {
    std::filesystem::create_directories(std::filesystem::absolute(options.out).parent_path());
    out.open(options.out);
    out << header << std::endl;
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    for (const std::unique_ptr<Team>& team : teams) {
      const CaseResult result = MeasureCase(*team, cases, i, options.measure);
      const json record = RecordOf(cases[i], result, {team->threads(), bandwidths.at(team->threads())});
      std::printf("[%zu/%zu] %s\n", i + 1, cases.size(), LineOf(record).c_str());
      if (options.plans) std::printf("%s\n", record["measured"][0]["facts"].value("plan", "").c_str());
      std::fflush(stdout);
      if (out.is_open()) out << record << std::endl;
    }
  }
  if (out.is_open() && !out) throw std::runtime_error(options.out + ": cannot be written");
  return 0;
}

}  // namespace
}  // namespace canopy::bench

int main(int argc, char** argv) {
  using namespace canopy::bench;
  CLI::App app(
      "Times Canopy, oneDNN and PyTorch on lists of problems, interleaved case by case.\n"
      "bench/README.md says how; docs/performance.md has the results.",
      "canopy-bench");
  Options options;
  options.team.torch_peer = CANOPY_BENCH_TORCH_PEER;
  AddOptions(&app, &options);
  CLI11_PARSE(app, argc, argv);
  if (options.sources.empty()) {
    if (!options.latency) return app.exit(CLI::RequiredError("problems"));
    options.sources = {kTinyProblem};
  }
  const auto has = [&](const char* peer) {
    return std::find(options.peers.begin(), options.peers.end(), peer) != options.peers.end();
  };
  const bool peers = !options.tune || app.count("--peers") > 0;
  options.team.engine = options.tune;
  options.team.onednn = peers && has("onednn");
  options.team.torch = peers && has("torch");
  std::string command = "canopy-bench";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  try {
    return Run(options, command);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "canopy-bench: %s\n", error.what());
    return 2;
  }
}
