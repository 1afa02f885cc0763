// SPDX-License-Identifier: Apache-2.0
#include "conv/few_pairs/rows.h"

#include <cstring>

#include "kernels/convert/contract.h"

namespace canopy::conv::few_pairs {
namespace {

template <class T>
void Gather(const void* base, const Rows& rows, T* to) {
  for (const int64_t offset : rows.offsets) {
    const char* from = static_cast<const char*>(base) + offset;
    int64_t i = 0;
    for (; i < rows.count; ++i, from += rows.step) std::memcpy(to + i, from, sizeof(T));
    for (; i < rows.pitch; ++i) to[i] = 0;
    to += rows.pitch;
  }
}

template <class T>
void Scatter(const T* from, const Rows& rows, void* base) {
  for (const int64_t offset : rows.offsets) {
    char* to = static_cast<char*>(base) + offset;
    for (int64_t i = 0; i < rows.count; ++i, to += rows.step) std::memcpy(to, from + i, sizeof(T));
    from += rows.pitch;
  }
}

// Calls `with(T*)`, T being a number of as many bytes as an element.
template <class With>
void AsElements(numerics::DType dtype, char* raw, const With& with) {
  switch (numerics::ElementBytes(dtype)) {
    case 1:
      return with(reinterpret_cast<uint8_t*>(raw));
    case 2:
      return with(reinterpret_cast<uint16_t*>(raw));
    default:
      return with(reinterpret_cast<uint32_t*>(raw));
  }
}

}  // namespace

void Read(const void* base, const Rows& rows, const numerics::NumericRule& rule, char* raw, float* to) {
  const bool plain = rows.dtype == numerics::DType::kFloat32 && rule.input_rounding == numerics::InputRounding::kNone;
  if (plain) return Gather(base, rows, to);
  AsElements(rows.dtype, raw, [&](auto* elements) { Gather(base, rows, elements); });
  kernels::convert::SelectLoadRow(rows.dtype, rule)(raw, rows.floats(), to);
}

void Write(const float* from, const Rows& rows, bool saturate, char* raw, void* base) {
  if (rows.dtype == numerics::DType::kFloat32 && !saturate) return Scatter(from, rows, base);
  kernels::convert::SelectStoreRow(rows.dtype, saturate)(from, rows.floats(), raw);
  AsElements(rows.dtype, raw, [&](const auto* elements) { Scatter(elements, rows, base); });
}

}  // namespace canopy::conv::few_pairs
