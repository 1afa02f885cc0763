// SPDX-License-Identifier: Apache-2.0
// How precisely a product computes a call, written from the specification and apart from the library's own tables.
#ifndef CANOPY_TOOLS_PRECISION_H_
#define CANOPY_TOOLS_PRECISION_H_

#include <string>
#include <string_view>

#include "numerics/dtype.h"
#include "tools/case.h"

namespace canopy::tools {

struct Precision {
  numerics::InputRounding rounding = numerics::InputRounding::kNone;
  bool saturate = false;  // overflow gives the greatest finite value, NaN gives 0

  bool hf32() const {
    return rounding == numerics::InputRounding::kHfloat32x11 || rounding == numerics::InputRounding::kHfloat32x10;
  }
};

// `soc` as aclrtGetSocName gives it.
Precision PrecisionOf(const Case& a_case, std::string_view soc);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_PRECISION_H_
