// SPDX-License-Identifier: Apache-2.0
// Numbers as elements of a tensor, in the forms that kernels read and write themselves.
#ifndef CANOPY_TESTS_KERNELS_ELEMENTS_H_
#define CANOPY_TESTS_KERNELS_ELEMENTS_H_

#include <cstdint>
#include <vector>

#include "kernels/convert/forms.h"
#include "numerics/rounding.h"

namespace canopy::kernels {

inline constexpr convert::Form kReadForms[] = {convert::Form::kFloat32, convert::Form::kHfloat32x11,
                                               convert::Form::kFloat16, convert::Form::kBFloat16};
inline constexpr convert::Form kWrittenForms[] = {convert::Form::kFloat32, convert::Form::kFloat16,
                                                  convert::Form::kBFloat16};

// As many numbers, each of which every form rounds.
inline std::vector<float> Numbers(int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i + 1) * 1.0003f;
  return numbers;
}

class Elements {
 public:
  Elements(convert::Form form, const std::vector<float>& values) : form_(form) {
    bytes_.resize(values.size() * size());
    for (size_t i = 0; i < values.size(); ++i) {
      numerics::StoreElement(bytes_.data() + i * size(), TypeOf(form), values[i], false);
    }
  }

  int64_t size() const { return numerics::ElementBytes(TypeOf(form_)); }
  char* data() { return bytes_.data(); }
  const char* data() const { return bytes_.data(); }

  float operator[](int64_t i) const { return numerics::LoadElement(bytes_.data() + i * size(), TypeOf(form_)); }

  // As a multiplicand.
  float Read(int64_t i) const { return numerics::RoundInput((*this)[i], RoundingOf(form_), false); }

 private:
  convert::Form form_;
  std::vector<char> bytes_;
};

}  // namespace canopy::kernels

#endif  // CANOPY_TESTS_KERNELS_ELEMENTS_H_
