// SPDX-License-Identifier: Apache-2.0
#include "exec/peak.h"

#include <algorithm>
#include <chrono>

#include "kernels/peak/contract.h"

namespace canopy::exec {
namespace {

// The best of many short spins: an interrupt, or a processor that is still raising its clock, only makes one slower.
double Measure() {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kRounds = 4000;  // 12 us where 24 vectors take 12 cycles of 0.25 ns
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(2);
  double best = 0;
  Clock::time_point begin = Clock::now();
  do {
    const double operations = kernels::SpinFma(kRounds);
    const Clock::time_point now = Clock::now();
    // A clock that stood still says nothing.
    if (now > begin) best = std::max(best, operations / std::chrono::duration<double>(now - begin).count());
    begin = now;
  } while (best == 0 || begin < end);
  return best;
}

}  // namespace

double PeakFlopsOfAThread() {
  static const double peak = Measure();
  return peak;
}

}  // namespace canopy::exec
