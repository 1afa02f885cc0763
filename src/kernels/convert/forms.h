// SPDX-License-Identifier: Apache-2.0
// The ways in which kernels of other families read and write elements themselves, a vector at a time, with the
// conversion in registers. What has none of them goes by the rows of contract.h.
#ifndef CANOPY_KERNELS_CONVERT_FORMS_H_
#define CANOPY_KERNELS_CONVERT_FORMS_H_

#include "numerics/dtype.h"

namespace canopy::kernels::convert {

// kHfloat32x11 is FP32 in memory, rounded when it is read.
enum class Form { kFloat32, kHfloat32x11, kFloat16, kBFloat16, kOther };
inline constexpr int kForms = static_cast<int>(Form::kOther);

// REQUIRES: not kOther.
constexpr numerics::DType TypeOf(Form form) {
  if (form == Form::kFloat16) return numerics::DType::kFloat16;
  return form == Form::kBFloat16 ? numerics::DType::kBFloat16 : numerics::DType::kFloat32;
}

constexpr numerics::InputRounding RoundingOf(Form form) {
  return form == Form::kHfloat32x11 ? numerics::InputRounding::kHfloat32x11 : numerics::InputRounding::kNone;
}

constexpr Form FormRead(numerics::DType dtype, const numerics::NumericRule& rule) {
  for (int i = 0; i < kForms; ++i) {
    const Form form = static_cast<Form>(i);
    if (dtype != TypeOf(form) || rule.input_rounding != RoundingOf(form)) continue;
    return rule.saturate && form == Form::kHfloat32x11 ? Form::kOther : form;
  }
  return Form::kOther;
}

// One of those that read nothing but what lies in memory.
constexpr Form FormWritten(numerics::DType dtype, bool saturate) {
  return saturate ? Form::kOther : FormRead(dtype, {});
}

}  // namespace canopy::kernels::convert

#endif  // CANOPY_KERNELS_CONVERT_FORMS_H_
