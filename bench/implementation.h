// SPDX-License-Identifier: Apache-2.0
// One implementation of the operators, as the bench sees it: it is given a case, names the ways in which it can compute
// it, and computes on demand. Each lives in a process of its own, one for each number of threads (README.md says why).
#ifndef CANOPY_BENCH_IMPLEMENTATION_H_
#define CANOPY_BENCH_IMPLEMENTATION_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/bench_case.h"
#include "bench/shared_data.h"

namespace canopy::bench {

class Implementation {
 public:
  virtual ~Implementation() = default;

  // Name and version, for people.
  virtual std::string Name() = 0;

  // Takes its own copies of the case's inputs from `data`. The answer's "ways" has, for each of "data" and "weights"
  // (or for "call", where parts cannot be had alone), the names of the ways; "facts" what a reader may want to know.
  // Throws std::exception with the reason where it does not compute such a case.
  virtual nlohmann::json Prepare(const BenchCase& a_case, const SharedData& data) = 0;

  // A function that computes `what` once, synchronously, from plain tensors to plain tensors. What may be kept between
  // calls (handles, primitives, memory) is kept; nothing that depends on the tensors' data is. For a whole call, `way`
  // may be "X+Y": X for the data, Y for the weights.
  virtual std::function<void()> Runner(What what, const std::string& way) = 0;

  // Copies the results of the last run into `data`.
  virtual void Store(SharedData* data) = 0;

  // Forgets the case.
  virtual void Drop() = 0;
};

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_IMPLEMENTATION_H_
