// SPDX-License-Identifier: Apache-2.0
// Lists of problems become cases of the bench.
#ifndef CANOPY_BENCH_LOAD_H_
#define CANOPY_BENCH_LOAD_H_

#include <string>
#include <vector>

#include "bench/bench_case.h"

namespace canopy::bench {

struct LoadOptions {
  std::vector<std::string> types;  // empty: as the list says
  std::string filter;              // part of the name, the class or the text
};

// `source` is a file (text lines, or any of the three kinds of JSON lines) or one line of text. Lines whose calls are
// the same are one case with a count; lines that a program's call must be refused for are left out. Throws
// tools::BadInput.
std::vector<BenchCase> LoadCases(const std::string& source, const LoadOptions& options);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_LOAD_H_
