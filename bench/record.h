// SPDX-License-Identifier: Apache-2.0
// What is kept of a run: a file of JSON lines, from which report.py makes tables and pictures, and a line on the
// console for each case.
#ifndef CANOPY_BENCH_RECORD_H_
#define CANOPY_BENCH_RECORD_H_

#include <nlohmann/json.hpp>
#include <string>

#include "bench/machine.h"
#include "bench/measure.h"

namespace canopy::bench {

// What a case is held against, on so many threads.
struct Ground {
  int threads;
  Bandwidth bandwidth;
};

// The case, its work and bounds, and for each implementation the medians of every way of every part.
nlohmann::json RecordOf(const BenchCase& a_case, const CaseResult& result, const Ground& ground);

// "resnet50.conv1 f32 2 threads: 12.30 ms, 81% of peak, 81% of bound; ..."
std::string LineOf(const nlohmann::json& record);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_RECORD_H_
