// SPDX-License-Identifier: Apache-2.0
#include "tools/check_list.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "tools/case_list.h"
#include "tools/progress.h"

namespace canopy::tools {
namespace {

struct Tally {
  size_t passed;
  size_t total;
  double seconds;  // inside the operators
};

struct Unmap {
  size_t bytes;
  void operator()(Tally* memory) const { munmap(memory, bytes); }
};
using SharedTallies = std::unique_ptr<Tally[], Unmap>;

// One tally a list, seen by child processes too.
SharedTallies MakeTallies(size_t count) {
  const size_t bytes = (count + 1) * sizeof(Tally);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw RuntimeFailure("no shared memory for the counts");
  return SharedTallies(static_cast<Tally*>(memory), Unmap{bytes});
}

struct Job {
  size_t list;
  const Case* a_case;
};

CaseReport CheckOne(const Case& a_case, const Runtime& runtime, const CheckOptions& options) {
  try {
    return CheckCase(a_case, runtime, options);
  } catch (const std::exception& error) {  // memory, mostly: the next case may be smaller
    CaseReport report;
    report.status = -1;
    report.message = error.what();
    report.faults.push_back("could not be checked");
    return report;
  }
}

void CheckJobs(const std::vector<Job>& jobs, const ListOptions& options, Tally* tallies) {
  const Runtime runtime;
  Progress progress(jobs.size());
  size_t failed = 0;
  for (const Job& job : jobs) {
    progress.Next(job.a_case->id, failed);
    const CaseReport report = CheckOne(*job.a_case, runtime, options.check);
    failed += report.passed() ? 0 : 1;
    Tally& tally = tallies[job.list];
    tally.passed += report.passed() ? 1 : 0;
    tally.seconds += report.seconds;
    if (options.detail != Detail::kFailures || !report.passed()) progress.Clear();
    PrintCaseReport(stdout, *job.a_case, report, options.detail);
    if (options.csv != nullptr) WriteCsv(options.csv, *job.a_case, report);
    if (options.json != nullptr) WriteJson(options.json, *job.a_case, report);
  }
}

// Runs `jobs` in a child that emulates `chip`.
void CheckInChild(const std::string& chip, const std::vector<Job>& jobs, const ListOptions& options, Tally* tallies) {
  std::fflush(nullptr);  // else the child would write it again
  const pid_t child = fork();
  if (child < 0) throw RuntimeFailure("no process for " + chip);
  if (child == 0) {
    int status = 0;
    try {
      if (!chip.empty()) setenv("CANOPY_SOC", chip.c_str(), 1);
      CheckJobs(jobs, options, tallies);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "canopy: %s\n", error.what());
      status = 2;
    }
    std::fflush(nullptr);
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status))
    std::printf("the process that checked %s died\n", chip.empty() ? "the default" : chip.c_str());
}

}  // namespace

size_t CheckLists(const std::vector<CaseList>& lists, const ListOptions& options) {
  const SharedTallies tallies = MakeTallies(lists.size());
  std::map<std::string, std::vector<Job>> by_chip;
  for (size_t i = 0; i < lists.size(); ++i) {
    for (const Case& a_case : lists[i].cases) {
      by_chip[a_case.soc.empty() ? options.soc : a_case.soc].push_back({i, &a_case});
    }
    tallies[i].total = lists[i].cases.size();
  }
  if (options.detail != Detail::kFailures) PrintErrorsHeader(stdout, "    ");
  if (by_chip.size() == 1) {
    const auto& [chip, jobs] = *by_chip.begin();
    if (!chip.empty()) setenv("CANOPY_SOC", chip.c_str(), 1);
    CheckJobs(jobs, options, tallies.get());
  } else {
    for (const auto& [chip, jobs] : by_chip) CheckInChild(chip, jobs, options, tallies.get());
  }
  size_t failed = 0;
  for (size_t i = 0; i < lists.size(); ++i) {
    const Tally& tally = tallies[i];
    failed += tally.total - tally.passed;
    if (tally.total == 0) {
      std::printf("%s: nothing to check\n", lists[i].name.c_str());
      continue;
    }
    std::printf("%s: %zu of %zu passed, %.1f s inside the operators\n", lists[i].name.c_str(), tally.passed,
                tally.total, tally.seconds);
  }
  return failed;
}

}  // namespace canopy::tools
