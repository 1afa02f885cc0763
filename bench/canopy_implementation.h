// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_BENCH_CANOPY_IMPLEMENTATION_H_
#define CANOPY_BENCH_CANOPY_IMPLEMENTATION_H_

#include <memory>

#include "bench/implementation.h"

namespace canopy::bench {

// Canopy through its public interface: phase 1 once, with a repeatable executor; phase 2 and the synchronisation are
// what is timed. Its one way is "canopy".
std::unique_ptr<Implementation> MakeCanopy();

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_CANOPY_IMPLEMENTATION_H_
