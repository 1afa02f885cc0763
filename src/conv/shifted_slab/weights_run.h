// SPDX-License-Identifier: Apache-2.0
// Numbers that the plan and the run of backward weights share.
#ifndef CANOPY_CONV_SHIFTED_SLAB_WEIGHTS_RUN_H_
#define CANOPY_CONV_SHIFTED_SLAB_WEIGHTS_RUN_H_

#include <cstdint>

namespace canopy::conv::shifted_slab {

inline constexpr int64_t kDepth = 192;      // positions of one tile call: a panel of 48 lanes then fills most of an L1
inline constexpr int64_t kBlocksASum = 32;  // tile calls whose sums are added up before a further level is opened

}  // namespace canopy::conv::shifted_slab

#endif  // CANOPY_CONV_SHIFTED_SLAB_WEIGHTS_RUN_H_
