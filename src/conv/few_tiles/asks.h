// SPDX-License-Identifier: Apache-2.0
#ifndef CANOPY_CONV_FEW_TILES_ASKS_H_
#define CANOPY_CONV_FEW_TILES_ASKS_H_

#include "base/checked_math.h"
#include "conv/problem.h"
#include "kernels/few_tiles/contract.h"
#include "kernels/streams.h"
#include "numerics/dtype.h"

namespace canopy::conv::few_tiles {

// For the kernels of a panel of input channels, so many vectors, output channel by output channel, from element
// `offset` of a weight tensor on; negative: there are none. `lines` reads or writes the tensor.
template <class Lines>
kernels::FewTilesAsk AskFor(const Lines& lines, const Operand& weight, int64_t offset, int64_t vectors) {
  if (offset < 0) return {};
  const int64_t bytes = numerics::ElementBytes(weight.dtype);
  const int64_t row = vectors * kernels::kFewTilesKernels * bytes;  // seldom begins with a line
  return {static_cast<const char*>(lines.Address(offset)), weight.strides[0] * bytes,
          static_cast<int32_t>(base::CeilDiv(row, kernels::kMemoryLine) + 1)};
}

}  // namespace canopy::conv::few_tiles

#endif  // CANOPY_CONV_FEW_TILES_ASKS_H_
