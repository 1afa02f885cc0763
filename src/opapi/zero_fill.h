// SPDX-License-Identifier: Apache-2.0
// Zeros for results that no term reaches because a tensor is empty.
#ifndef CANOPY_OPAPI_ZERO_FILL_H_
#define CANOPY_OPAPI_ZERO_FILL_H_

#include <cstdint>

#include "nnopbase/tensor_view.h"

namespace canopy::opapi {

// Sets every element of the view to zero; `first` is its element (0, 0, ...). Zero is all bits 0 in every type.
// REQUIRES: the view has elements.
void FillZeros(const nnopbase::TensorView& view, int64_t element_bytes, void* first) noexcept;

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_ZERO_FILL_H_
