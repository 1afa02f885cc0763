// SPDX-License-Identifier: Apache-2.0
// The definition, element by element: products in double, summed in double, rounded once. Padded taps are skipped.
#ifndef CANOPY_CONV_REFERENCE_RUN_H_
#define CANOPY_CONV_REFERENCE_RUN_H_

#include "conv/problem.h"

namespace canopy::conv::reference {

// Computes one whole result of `problem`, on the pool unless `serial`.
void RunReference(const ConvProblem& problem, Computation computation, const Buffers& buffers, bool serial) noexcept;

}  // namespace canopy::conv::reference

#endif  // CANOPY_CONV_REFERENCE_RUN_H_
