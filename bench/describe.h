// SPDX-License-Identifier: Apache-2.0
// A case in JSON: for workers in other languages, and for the file of results.
#ifndef CANOPY_BENCH_DESCRIBE_H_
#define CANOPY_BENCH_DESCRIBE_H_

#include <nlohmann/json.hpp>

#include "bench/bench_case.h"
#include "bench/shared_data.h"

namespace canopy::bench {

// Geometry, attributes, and where each tensor lies in the shared memory.
nlohmann::json Describe(const conv::Call& call, const SharedData& data);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_DESCRIBE_H_
