// SPDX-License-Identifier: Apache-2.0
// What a call has to do at least: operations that count, bytes that must move.
#ifndef CANOPY_BENCH_WORK_H_
#define CANOPY_BENCH_WORK_H_

#include "bench/bench_case.h"

namespace canopy::bench {

struct Work {
  // Two for each useful multiply-add (conv/work.h), so that the bound is one that can be reached.
  double flops = 0;
  // Every tensor that is read or written, once.
  double bytes = 0;
};

// REQUIRES: phase 1 accepts the call.
Work WorkOf(const conv::Call& call, What what);

// Bytes of all tensors that the call reads or writes, each once.
double TensorBytes(const conv::Call& call);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_WORK_H_
