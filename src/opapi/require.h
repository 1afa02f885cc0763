// SPDX-License-Identifier: Apache-2.0
// What rules demand, one function a demand. Each refusal reads "argument: was X; allowed is Y", with the argument named
// as in the C prototype.
#ifndef CANOPY_OPAPI_REQUIRE_H_
#define CANOPY_OPAPI_REQUIRE_H_

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/status.h"
#include "opapi/arguments.h"
#include "opapi/codes.h"
#include "opapi/names.h"
#include "product/product.h"

namespace canopy::opapi {

base::Status Refuse(std::string_view argument, std::string_view was, std::string_view allowed, int code = kInvalid);

// "Ascend910B1 (Atlas A2)"
std::string ProductText(const product::Product& product);

// The product does not offer the operator at all; the message lists those that do, as `offers` says.
base::Status RefuseProduct(const product::Product& product, bool (*offers)(const product::Product&));

// Null pointers: 161001.
base::Status RequireResults(const ResultPointers& results);
base::Status RequireGiven(const TensorArgument& tensor);
base::Status RequireGiven(const IntArrayArgument& array);
base::Status RequireGiven(const BoolArrayArgument& array);

// Handles that are given but not ours. NULL passes, here and in everything below that takes a tensor.
base::Status RequireLive(std::initializer_list<const TensorArgument*> tensors,
                         std::initializer_list<const IntArrayArgument*> int_arrays = {});
base::Status RequireLive(const BoolArrayArgument& array);

base::Status RequireDType(const TensorArgument& tensor, DTypeSet allowed, const product::Product& product);
// `like` in words: "input's type".
base::Status RequireSameDType(const TensorArgument& tensor, const TensorArgument& like);
base::Status RequireFormat(const TensorArgument& tensor, FormatSet allowed);
base::Status RequireRank(const TensorArgument& tensor, int64_t rank);
base::Status RequireRankBetween(const TensorArgument& tensor, int64_t low, int64_t high);

// Extents are not negative; the number of elements and the bytes from the first to the last fit 64 bits.
// REQUIRES: the tensor's type is one that operators take.
base::Status RequireSaneExtents(const TensorArgument& tensor);

base::Status RequireExtent(const TensorArgument& tensor, int64_t axis, int64_t allowed, std::string_view because);
base::Status RequireSameShape(const TensorArgument& tensor, const TensorArgument& like);
base::Status RequireNotEmpty(const TensorArgument& tensor);

base::Status RequireLength(const IntArrayArgument& array, std::initializer_list<int64_t> allowed,
                           std::string_view because);
base::Status RequireAtLeast(const IntArrayArgument& array, int64_t low);
base::Status RequireAtLeast(const char* name, int64_t value, int64_t low);

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_REQUIRE_H_
