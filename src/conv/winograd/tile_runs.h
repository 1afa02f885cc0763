// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_WINOGRAD_TILE_RUNS_H_
#define CANOPY_CONV_WINOGRAD_TILE_RUNS_H_

#include <cstdint>

#include "kernels/gather_gemm/contract.h"

namespace canopy::conv::winograd {

// Makes `next` part of `run` where its terms follow, so many floats from one to the next. Returns whether they do.
inline bool Continue(kernels::GatherRun* run, const kernels::GatherRun& next, int64_t a_step, int64_t b_step) {
  if (next.a != run->a + run->terms * a_step || next.b != run->b + run->terms * b_step) return false;
  run->terms += next.terms;
  return true;
}

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_TILE_RUNS_H_
