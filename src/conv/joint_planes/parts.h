// SPDX-License-Identifier: Apache-2.0
// A kernel's call in parts that add no more than kMostTerms to a sum.
#ifndef CANOPY_CONV_JOINT_PLANES_PARTS_H_
#define CANOPY_CONV_JOINT_PLANES_PARTS_H_

#include <cstdint>

#include "kernels/joint_planes/contract.h"

namespace canopy::conv::joint_planes {

inline constexpr int64_t kMostTerms = 256;  // of a sum before a second level

// From one vector of a row to the next: bytes, floats of what was before.
struct VectorSteps {
  int64_t g, x, result, before;
};

// Of a rolling kernel, which meets rows around its own again in each part: high parts rather than wide ones.
inline constexpr int64_t kMostRollingVectors = 8;

// Parts have up to `most` vectors of a row, and so many rows of a call with `rows` of `vectors`.
int64_t PartRows(int64_t rows, int64_t vectors, int64_t most);
void RunInParts(kernels::JointFn kernel, const kernels::JointCall& whole, const VectorSteps& steps, int64_t most);

}  // namespace canopy::conv::joint_planes

#endif  // CANOPY_CONV_JOINT_PLANES_PARTS_H_
