// SPDX-License-Identifier: Apache-2.0
// Rows of elements to FP32 and back, with the numeric rule's rounding fused in:
//   load:  dst[i] = RoundInput(LoadElement(src[i], dtype), rounding, saturate)
//   store: dst[i] = element of `dtype` nearest to src[i], StoreElement's bits
// Both give exactly the bits of numerics/rounding.h, NaN payloads included, on every instruction set and also while
// flush-to-zero and denormals-are-zero are on. Rows are contiguous and may have any alignment and any length, 0 too;
// source and destination may be the same row of FP32 and must not overlap otherwise.
// REQUIRES: the thread rounds to nearest.
#ifndef CANOPY_KERNELS_CONVERT_CONTRACT_H_
#define CANOPY_KERNELS_CONVERT_CONTRACT_H_

#include <cstdint>

#include "numerics/dtype.h"

namespace canopy::kernels::convert {

using LoadRowFn = void (*)(const void* src, int64_t count, float* dst);
using StoreRowFn = void (*)(const float* src, int64_t count, void* dst);

// The best kernel this machine has; never nullptr. Ask while planning, not in a loop.
LoadRowFn SelectLoadRow(numerics::DType dtype, const numerics::NumericRule& rule);
StoreRowFn SelectStoreRow(numerics::DType dtype, bool saturate);

}  // namespace canopy::kernels::convert

#endif  // CANOPY_KERNELS_CONVERT_CONTRACT_H_
