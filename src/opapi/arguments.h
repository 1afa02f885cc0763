// SPDX-License-Identifier: Apache-2.0
// One call's arguments as phase 1 found them: plain values that carry their name in the C prototype, so that a rule can
// name what it refuses. Rules see nothing else, hence they can be asked about calls that nobody made.
#ifndef CANOPY_OPAPI_ARGUMENTS_H_
#define CANOPY_OPAPI_ARGUMENTS_H_

#include <cstdint>

#include "nnopbase/tensor_view.h"

namespace canopy::opapi {

enum class Handle : uint8_t {
  kNull,   // the caller passed NULL
  kStale,  // not, or no longer, a handle of this library
  kRead,   // its content is here
};

struct TensorArgument {
  const char* name = "";
  Handle state = Handle::kNull;
  const aclTensor* handle = nullptr;
  nnopbase::TensorView view{};

  bool given() const { return state != Handle::kNull; }
  bool empty() const { return view.empty(); }
  int64_t rank() const { return view.rank; }
  int64_t dim(int64_t axis) const { return view.dims[axis]; }
};

struct IntArrayArgument {
  const char* name = "";
  Handle state = Handle::kNull;
  nnopbase::IntArrayView view{};

  bool given() const { return state != Handle::kNull; }
  int64_t size() const { return static_cast<int64_t>(view.size); }
  // How many entries are here to look at.
  int64_t visible() const { return size() < nnopbase::kMaxArray ? size() : nnopbase::kMaxArray; }
  int64_t operator[](int64_t index) const { return view.values[index]; }
};

struct BoolArrayArgument {
  const char* name = "";
  Handle state = Handle::kNull;
  nnopbase::BoolArrayView view{};

  bool given() const { return state != Handle::kNull; }
  bool operator[](int64_t index) const { return view.values[index]; }
};

// Phase 1's two results; false: the caller passed NULL.
struct ResultPointers {
  bool workspace_size = true;
  bool executor = true;
};

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_ARGUMENTS_H_
