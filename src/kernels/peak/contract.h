// SPDX-License-Identifier: Apache-2.0
// The most that any kernel could do: fused multiply-adds in registers and nothing else. What percentages of peak are
// held against.
#ifndef CANOPY_KERNELS_PEAK_CONTRACT_H_
#define CANOPY_KERNELS_PEAK_CONTRACT_H_

#include <cstdint>

namespace canopy::kernels {

// sum[i] = sum[i] * factor + other, `rounds` times, over as many independent vectors as hide the latency; a multiply
// and an add where the processor cannot fuse them. Returns the operations done, two for each multiply-add of an
// element. Any number of threads may spin at once.
double SpinFma(int64_t rounds);

}  // namespace canopy::kernels

#endif  // CANOPY_KERNELS_PEAK_CONTRACT_H_
