// SPDX-License-Identifier: Apache-2.0
// One case, timed: every implementation in turn, round after round, so that a clock that wanders or a neighbour that
// wakes up meets all of them.
#ifndef CANOPY_BENCH_MEASURE_H_
#define CANOPY_BENCH_MEASURE_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/bench_case.h"
#include "bench/team.h"

namespace canopy::bench {

struct MeasureOptions {
  int rounds = 3;
  double seconds = 0.05;  // for each way of each part, a round
};

using Samples = std::vector<double>;  // seconds

// What one implementation did with a case.
struct Measured {
  std::string name;
  std::string refusal;  // why it has no times
  nlohmann::json facts;
  std::map<What, std::map<std::string, Samples>> samples;  // by way
  std::map<std::string, double> differences;               // by way: from Canopy's results, the worst tensor's
  std::vector<std::string> wrong;                          // ways not timed: they compute something else
};

struct CaseResult {
  std::vector<Measured> measured;  // Canopy's first
  double peak_gflops = 0;          // in the same rounds
  double exchange_ns = 0;          // likewise, the longest; 0 for one thread
};

CaseResult MeasureCase(const Team& team, const std::vector<BenchCase>& cases, size_t index,
                       const MeasureOptions& options);

// How far results of `type` may be from Canopy's, norm-wise: the types' roundings, and HF32's against peers' FLOAT.
double Tolerance(const std::string& type);

// The median's way. REQUIRES: not empty.
const std::string& BestWay(const std::map<std::string, Samples>& samples);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_MEASURE_H_
