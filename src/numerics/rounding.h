// SPDX-License-Identifier: Apache-2.0
// The formats behind one door each: read an element, write an element, round a multiplicand. Scalar and exact; the
// vector versions in kernels/convert give the same bits.
#ifndef CANOPY_NUMERICS_ROUNDING_H_
#define CANOPY_NUMERICS_ROUNDING_H_

#include <cstdint>
#include <cstring>

#include "numerics/bfloat16.h"
#include "numerics/bits.h"
#include "numerics/dtype.h"
#include "numerics/float16.h"
#include "numerics/float8_e4m3.h"
#include "numerics/hfloat32.h"
#include "numerics/hifloat8.h"

namespace canopy::numerics {

// FP32 as a result: unchanged, or where the product saturates, never Inf nor NaN.
constexpr float SaturateFloat(float value) {
  const uint32_t bits = ToBits(value);
  const uint32_t magnitude = bits & ~kFloatSign;
  if (magnitude > kFloatInf) return FromBits(0);
  return magnitude == kFloatInf ? FromBits((bits & kFloatSign) | kFloatMax) : value;
}

// Of a number of bytes that is a constant, which the compiler moves at once and not byte by byte.
template <class T>
T BitsAt(const void* address) {
  T bits;
  std::memcpy(&bits, address, sizeof(bits));
  return bits;
}

template <class T>
void PutBits(T bits, void* address) {
  std::memcpy(address, &bits, sizeof(bits));
}

// The element at `address` (any alignment), exactly.
inline float LoadElement(const void* address, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return BitsAt<float>(address);
    case DType::kFloat16:
      return Float16ToFloat(BitsAt<uint16_t>(address));
    case DType::kBFloat16:
      return BFloat16ToFloat(BitsAt<uint16_t>(address));
    case DType::kHiFloat8:
      return HiFloat8ToFloat(BitsAt<uint8_t>(address));
    case DType::kFloat8E4M3:
      return Float8E4M3ToFloat(BitsAt<uint8_t>(address));
  }
  return 0;
}

// Rounds `value` once to `dtype` and writes it at `address` (any alignment).
inline void StoreElement(void* address, DType dtype, float value, bool saturate) {
  switch (dtype) {
    case DType::kFloat32:
      return PutBits(saturate ? SaturateFloat(value) : value, address);
    case DType::kFloat16:
      return PutBits(FloatToFloat16(value, saturate), address);
    case DType::kBFloat16:
      return PutBits(FloatToBFloat16(value, saturate), address);
    case DType::kHiFloat8:
      return PutBits(FloatToHiFloat8(value, saturate), address);
    case DType::kFloat8E4M3:
      return PutBits(FloatToFloat8E4M3(value, saturate), address);
  }
}

// A multiplicand as the numeric rule wants it. kNone passes every pattern, Inf and NaN of a saturating product too:
// nothing is converted then.
constexpr float RoundInput(float value, InputRounding rounding, bool saturate) {
  switch (rounding) {
    case InputRounding::kNone:
      return value;
    case InputRounding::kFloat16:
      return Float16ToFloat(FloatToFloat16(value, saturate));
    case InputRounding::kBFloat16:
      return BFloat16ToFloat(FloatToBFloat16(value, saturate));
    case InputRounding::kHfloat32x11:
      return RoundToHfloat32x11(value, saturate);
    case InputRounding::kHfloat32x10:
      return RoundToHfloat32x10(value, saturate);
  }
  return value;
}

}  // namespace canopy::numerics

#endif  // CANOPY_NUMERICS_ROUNDING_H_
