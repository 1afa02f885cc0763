// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_SPLIT_GEMM_LOSSES_H_
#define CANOPY_CONV_SPLIT_GEMM_LOSSES_H_

#include <atomic>
#include <cstdint>

#include "kernels/lines/contract.h"

namespace canopy::conv::split_gemm {

// What a run has seen that its parts cannot express: kernels/split_gemm/contract.h.
class Losses {
 public:
  void AddRows(uint32_t bits) { Add(bits, &rows_); }
  void AddLanes(uint32_t bits) { Add(bits, &lanes_); }
  void AddResults(const float* results, int64_t count) {
    if (kernels::Lines().any_nonfinite(results, count)) AddNonfinite();
  }
  void AddNonfinite() { nonfinite_.store(true, std::memory_order_relaxed); }

  bool None() const {
    return !nonfinite_.load(std::memory_order_relaxed) && !AllTiny(rows_.load(std::memory_order_relaxed)) &&
           !AllTiny(lanes_.load(std::memory_order_relaxed));
  }

 private:
  static void Add(uint32_t bits, std::atomic<uint32_t>* to) {
    if ((bits & ~to->load(std::memory_order_relaxed)) != 0) to->fetch_or(bits, std::memory_order_relaxed);
  }
  // Some number is not 0, but all are below 2^-95. One that is above outweighs what the others lose.
  static bool AllTiny(uint32_t bits) { return (bits & 0x7fffffff) != 0 && (bits & 0x70000000) == 0; }

  std::atomic<uint32_t> rows_{0}, lanes_{0};
  std::atomic<bool> nonfinite_{false};
};

}  // namespace canopy::conv::split_gemm

#endif  // CANOPY_CONV_SPLIT_GEMM_LOSSES_H_
