// SPDX-License-Identifier: Apache-2.0
// Values of tensors: drawn from a seed, written into a view's storage, read back. Values are FP32, in the order of the
// view's logical elements; every type of the operators is exact in it.
#ifndef CANOPY_TOOLS_TENSOR_DATA_H_
#define CANOPY_TOOLS_TENSOR_DATA_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/case.h"

namespace canopy::tools {

// A well mixed key from a seed and a name; the same on every machine.
uint64_t MixKey(uint64_t seed, std::string_view name);
// The i-th 64-bit draw of a key.
uint64_t Draw(uint64_t key, uint64_t i);

// One value for each element, as the type holds it, from `key` and the element's place in the storage: elements of a
// view that share a place have one value.
// REQUIRES: ToDType(spec.dtype).
std::vector<float> DrawValues(const TensorSpec& spec, uint64_t key);

// Writes the view's elements, each rounded to the type; the rest of the storage stays as it is.
void WriteView(const TensorSpec& spec, const std::vector<float>& values, void* storage);
std::vector<float> ReadView(const TensorSpec& spec, const void* storage);
// Only the elements at these places in the logical order.
std::vector<float> ReadElements(const TensorSpec& spec, const void* storage, const std::vector<int64_t>& indices);

// Fills a storage with a pattern that is NaN in every type.
void FillWithNan(const TensorSpec& spec, void* storage);
// Whether FillWithNan's pattern still stands in all elements, or with `outside_view` in all that the view leaves out.
bool StillNan(const TensorSpec& spec, const void* storage, bool outside_view);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_TENSOR_DATA_H_
