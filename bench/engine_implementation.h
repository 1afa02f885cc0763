// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_BENCH_ENGINE_IMPLEMENTATION_H_
#define CANOPY_BENCH_ENGINE_IMPLEMENTATION_H_

#include <memory>

#include "bench/implementation.h"

namespace canopy::bench {

inline constexpr char kEngineName[] = "engine";

// Every algorithm of the engine that accepts a problem, alone: its ways are the algorithms' names. The fact "chosen"
// has the one that the plan takes for each gradient, or twice for the call where one pass serves several, so that
// choices can be held against the exhaustive search.
std::unique_ptr<Implementation> MakeEngine();

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_ENGINE_IMPLEMENTATION_H_
