// SPDX-License-Identifier: Apache-2.0
// Results computed with their channels side by side, stored line by line along another axis.
#ifndef CANOPY_CONV_PACKING_STORE_H_
#define CANOPY_CONV_PACKING_STORE_H_

#include <cstdint>

#include "conv/packing/slab.h"
#include "conv/streams.h"
#include "conv/tensor_lines.h"

namespace canopy::conv::packing {

struct StoreShape {
  int64_t channels, count;                 // elements of a line: one line a channel
  int64_t from_step;                       // floats from element to element in `tiles`
  int64_t channel_stride, element_stride;  // in the tensor
  StreamedRows streamed = StreamedRows::kNone;
};

// Element offset + c * channel_stride + i * element_stride = tiles[i * from_step + c]. Where lines are streamed,
// kernels::FinishStreams() is the caller's.
void StoreLines(const LineWriter& writer, int64_t offset, const StoreShape& shape, const SlabScratch& scratch,
                const float* tiles);

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_STORE_H_
