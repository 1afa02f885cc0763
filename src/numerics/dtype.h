// SPDX-License-Identifier: Apache-2.0
// The element types that the engine reads and writes, and the numeric rule that a problem carries.
#ifndef CANOPY_NUMERICS_DTYPE_H_
#define CANOPY_NUMERICS_DTYPE_H_

#include <cstdint>

namespace canopy::numerics {

enum class DType : uint8_t { kFloat32, kFloat16, kBFloat16, kHiFloat8, kFloat8E4M3 };

constexpr int64_t ElementBytes(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 4;
    case DType::kFloat16:
    case DType::kBFloat16:
      return 2;
    case DType::kHiFloat8:
    case DType::kFloat8E4M3:
      return 1;
  }
  return 0;
}

// How a multiplicand is rounded, to nearest even, before it is multiplied. Types that the format holds exactly pass
// unchanged, so kNone serves 16-bit and 8-bit tensors that are used in their own precision.
enum class InputRounding : uint8_t { kNone, kFloat16, kBFloat16, kHfloat32x11, kHfloat32x10 };

// Products are accumulated in FP32 and each result is rounded once to its tensor's type: to nearest even, but ties away
// from zero for HiFloat8.
struct NumericRule {
  InputRounding input_rounding = InputRounding::kNone;
  // Inf becomes the greatest finite value and NaN becomes +0 where an input is rounded (not under kNone) and in every
  // result, FP32 ones too.
  bool saturate = false;

  friend bool operator==(const NumericRule&, const NumericRule&) = default;
};

}  // namespace canopy::numerics

#endif  // CANOPY_NUMERICS_DTYPE_H_
