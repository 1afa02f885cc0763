// SPDX-License-Identifier: Apache-2.0
// Upper limits that the documents give and that come from the device's hardware. A CPU has none of them: they warn, and
// refuse only under CANOPY_LIMITS=documented. Each operator's limits are rows of its support.inc.
#ifndef CANOPY_OPAPI_LIMITS_H_
#define CANOPY_OPAPI_LIMITS_H_

#include <array>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "opapi/window.h"
#include "product/product.h"

namespace canopy::opapi {

enum class Quantity { kKernel, kStride, kPadding, kDilation, kGroups, kExtent, kMapExtent, kOverhang };

// Bits: which spatial ranks a row is about, which axes (of depth, height, width; 1D has width only), which direction.
enum LimitMask : unsigned {
  kRank1 = 1,
  kRank2 = 2,
  kRank3 = 4,
  kAnyRank = 7,
  kDepth = 1,
  kHeight = 2,
  kWidth = 4,
  kPlane = 6,
  kAnyAxis = 7,
  kPlain = 1,
  kTransposed = 2,
  kAnyDirection = 3,
};

struct Limit {
  product::Arch arch;
  unsigned ranks;
  unsigned directions;
  unsigned axes;
  Quantity quantity;
  int64_t low;
  int64_t high;
};

// One call as limits see it.
struct Limited {
  bool transposed = false;
  int64_t spatial_rank = 1;
  std::array<Window, 3> windows{};  // the first spatial_rank
  int64_t groups = 1;
  const TensorArgument* map = nullptr;             // kMapExtent: the input's spatial extents
  std::array<const TensorArgument*, 4> tensors{};  // kExtent: all extents of these
  std::array<const char*, 4> names{"weight", "stride", "padding", "dilation"};  // by Quantity
  int64_t kernel_axis = 2;                                                      // weight's first spatial axis
};

// 561103 with the first limit that is exceeded.
base::Status CheckLimits(std::span<const Limit> limits, const Limited& call, const product::Product& product);

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_LIMITS_H_
