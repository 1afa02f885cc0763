// SPDX-License-Identifier: Apache-2.0
#include "opapi/cube_math.h"

#include "opapi/require.h"
#include "opapi/text.h"

namespace canopy::opapi {
namespace {

using base::Status;
using numerics::InputRounding;

enum Multiply { kRefused, kAsIs, kFloat16, kHfloat32 };

struct Row {
  product::Arch arch;
  aclDataType promoted;
  Multiply by_type[kUseFp32Add + 1];
};

constexpr Row kRows[] = {
#define CANOPY_CUBE_MATH(arch, type, ...) {product::Arch::arch, type, {__VA_ARGS__}},
#include "opapi/cube_math.inc"
#undef CANOPY_CUBE_MATH
};

Multiply Find(int cube_math_type, aclDataType promoted, const product::Product& product) {
  for (const Row& row : kRows) {
    if (row.arch == product.arch && row.promoted == promoted) return row.by_type[cube_math_type];
  }
  return kRefused;
}

}  // namespace

Status RequireCubeMathType(int cube_math_type, int high, aclDataType promoted, const product::Product& product) {
  if (cube_math_type < 0 || cube_math_type > high) {
    return Refuse("cubeMathType", Text(cube_math_type), Text("0 to ", high));
  }
  if (Find(cube_math_type, promoted, product) != kRefused) return {};
  return Refuse("cubeMathType", Text(cube_math_type),
                Text("1 (ALLOW_FP32_DOWN_PRECISION) or 2 (USE_FP16) for inputs that promote to ", Name(promoted),
                     " on ", ProductText(product)));
}

InputRounding RoundingOf(int cube_math_type, aclDataType promoted, const product::Product& product) {
  switch (Find(cube_math_type, promoted, product)) {
    case kFloat16:
      return InputRounding::kFloat16;
    case kHfloat32:
      return product.hf32_mantissa_bits == 10 ? InputRounding::kHfloat32x10 : InputRounding::kHfloat32x11;
    default:
      return InputRounding::kNone;
  }
}

}  // namespace canopy::opapi
