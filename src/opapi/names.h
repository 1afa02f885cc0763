// SPDX-License-Identifier: Apache-2.0
// Small sets of data types and of formats, and how messages name them.
#ifndef CANOPY_OPAPI_NAMES_H_
#define CANOPY_OPAPI_NAMES_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "acl/acl_base.h"

namespace canopy::opapi {

// A set of enumerators of T, whose values lie in 0..63; others are in no set.
template <class T>
class EnumSet {
 public:
  constexpr EnumSet() = default;
  constexpr EnumSet(std::initializer_list<T> members) {
    for (T member : members) bits_ |= uint64_t{1} << static_cast<int>(member);
  }
  constexpr bool Has(T value) const {
    const int index = static_cast<int>(value);
    return index >= 0 && index < 64 && (bits_ >> index & 1) != 0;
  }

 private:
  uint64_t bits_ = 0;
};

using DTypeSet = EnumSet<aclDataType>;
using FormatSet = EnumSet<aclFormat>;

// "FLOAT16"; a number where the value is no enumerator.
std::string Name(aclDataType dtype);
std::string Name(aclFormat format);

// "FLOAT, FLOAT16 or BF16"
std::string Names(DTypeSet dtypes);
std::string Names(FormatSet formats);

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_NAMES_H_
