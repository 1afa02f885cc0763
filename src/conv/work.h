// SPDX-License-Identifier: Apache-2.0
// What a problem has to do at least, whatever algorithm does it, and the unit that all work is counted in.
#ifndef CANOPY_CONV_WORK_H_
#define CANOPY_CONV_WORK_H_

#include "conv/problem.h"

namespace canopy::conv {

// Work is counted in multiply-adds of so many FP32 lanes at the peak rate, whatever the processor's vectors have.
inline constexpr double kWorkLanes = 16;

// Whether the processor's vectors are shorter. There are fewer registers then, too, and tiles are lower.
bool ShortVectors();

// Whether so many lanes are one vector, which is multiplied as a whole and not in halves.
bool WholeVectors();

// Weights of a group, up to which they stay in the last-level cache, 4 MiB of it, and what is added to packing one of
// more.
inline constexpr int64_t kNearWeights = int64_t{1} << 20;
inline constexpr double kWorkAFetchedWeight = 0.6;

// Multiply-adds of the wanted computations whose factors both exist. A kernel offset that falls into the padding is no
// work, so direct algorithms that multiply zeros stay below 100% of peak. A bias sum multiplies nothing.
double UsefulMultiplyAdds(const ConvProblem& problem);

}  // namespace canopy::conv

#endif  // CANOPY_CONV_WORK_H_
