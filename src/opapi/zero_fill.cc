// SPDX-License-Identifier: Apache-2.0
#include "opapi/zero_fill.h"

#include <cstring>

namespace canopy::opapi {
namespace {

void FillAxis(const nnopbase::TensorView& view, int64_t axis, int64_t element_bytes, char* at) {
  if (axis == view.rank) {
    std::memset(at, 0, static_cast<size_t>(element_bytes));
    return;
  }
  const bool row = axis == view.rank - 1 && view.strides[axis] == 1;
  if (row) {
    std::memset(at, 0, static_cast<size_t>(view.dims[axis] * element_bytes));
    return;
  }
  for (int64_t i = 0; i < view.dims[axis]; ++i) {
    FillAxis(view, axis + 1, element_bytes, at + i * view.strides[axis] * element_bytes);
  }
}

}  // namespace

void FillZeros(const nnopbase::TensorView& view, int64_t element_bytes, void* first) noexcept {
  FillAxis(view, 0, element_bytes, static_cast<char*>(first));
}

}  // namespace canopy::opapi
