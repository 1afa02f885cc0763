// SPDX-License-Identifier: Apache-2.0
// Which of the instruction sets in targets.h run on this machine. Kernels are chosen when a plan is made, by each
// family's Select functions, which follow the target chosen here: the best one the processor has, or what a test
// forces.
#ifndef CANOPY_KERNELS_DISPATCH_H_
#define CANOPY_KERNELS_DISPATCH_H_

#include <cstdint>
#include <vector>

namespace canopy::kernels {

// Highway's bits (HWY_AVX2 ...), best first; at least one.
std::vector<int64_t> MachineTargets();

// "AVX3", "AVX2", "NEON", ...
const char* TargetName(int64_t target);

// While it lives, Select functions of all families give kernels of `target`. For tests and benches: it changes the
// whole process and what was selected before stays as it is.
class ScopedTarget {
 public:
  explicit ScopedTarget(int64_t target);
  ~ScopedTarget();
  ScopedTarget(const ScopedTarget&) = delete;
  ScopedTarget& operator=(const ScopedTarget&) = delete;
};

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_DISPATCH_H_
