// SPDX-License-Identifier: Apache-2.0
// Calls that nobody thought of: random geometry, types, masks and views that Atlas A2 accepts.
#ifndef CANOPY_TOOLS_RANDOM_CALL_H_
#define CANOPY_TOOLS_RANDOM_CALL_H_

#include <cstdint>

#include "conv/call_text.h"

namespace canopy::tools {

// The i-th call of a seed; the same on every machine. At most about 30 million operations.
conv::Call RandomCall(uint64_t seed, uint64_t i);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_RANDOM_CALL_H_
