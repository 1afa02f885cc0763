// SPDX-License-Identifier: Apache-2.0
#include "conv/algorithm_steps.h"

namespace canopy::conv {

const Algorithm kAlgorithms[] = {
#define CANOPY_ALGORITHM(name) {#name, false, false, &name::Accepts, &name::MakeStep},
#define CANOPY_FAST_ALGORITHM(name) {#name, true, false, &name::Accepts, &name::MakeStep},
#define CANOPY_FAST_JOINT_ALGORITHM(name) {#name, true, true, &name::Accepts, &name::MakeStep},
#define CANOPY_JOINT_ALGORITHM(name) {#name, false, true, &name::Accepts, &name::MakeStep},
#include "conv/algorithms.inc"
#undef CANOPY_JOINT_ALGORITHM
#undef CANOPY_FAST_JOINT_ALGORITHM
#undef CANOPY_FAST_ALGORITHM
#undef CANOPY_ALGORITHM
};

const int kAlgorithmCount = static_cast<int>(sizeof(kAlgorithms) / sizeof(kAlgorithms[0]));

}  // namespace canopy::conv
