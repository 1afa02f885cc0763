// SPDX-License-Identifier: Apache-2.0
// What a problem has to do at least, whatever algorithm does it.
#ifndef CANOPY_CONV_WORK_H_
#define CANOPY_CONV_WORK_H_

#include "conv/problem.h"

namespace canopy::conv {

// Multiply-adds of the wanted computations whose factors both exist. A kernel offset that falls into the padding is no
// work, so direct algorithms that multiply zeros stay below 100% of peak. A bias sum multiplies nothing.
double UsefulMultiplyAdds(const ConvProblem& problem);

}  // namespace canopy::conv

#endif  // CANOPY_CONV_WORK_H_
