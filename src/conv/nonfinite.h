// SPDX-License-Identifier: Apache-2.0
// Inf and NaN beside padding. A packed algorithm multiplies padding's zeros, which is harmless until the other factor
// is not finite: 0 * Inf is NaN where the definition has no term. Such an algorithm then takes 1 with the sign of each
// non-finite element of that operand and adds the true terms afterwards, one by one, by the definition. The order does
// not matter: every such term is Inf or NaN, and so is what it is added to from then on. What 1 added before cannot
// show: where the other factor is finite it vanishes in the Inf, and where that is Inf it is Inf of the same sign.
#ifndef CANOPY_CONV_NONFINITE_H_
#define CANOPY_CONV_NONFINITE_H_

#include <atomic>

#include "conv/problem.h"

namespace canopy::conv {

// Adds to the result of kForward or kBackwardData the terms of the weights that are not finite.
void AddNonfiniteWeightTerms(const ConvProblem& problem, Computation computation, const Buffers& buffers, bool serial);

// Adds to the result of kBackwardWeights the terms in which `input` or `output` is not finite.
void AddNonfiniteActivationTerms(const ConvProblem& problem, const Buffers& buffers, bool serial);

// Weight gradients of such an algorithm: `run` computes them and sets `nonfinite` where one is not finite, as all are
// that a zero spoilt; `take_finite` has it read harmless numbers from then on.
template <class Run, class TakeFinite>
void RunPastNonfinite(const ConvProblem& problem, const Buffers& buffers, bool serial,
                      const std::atomic<int>& nonfinite, const Run& run, const TakeFinite& take_finite) {
  run();
  if (nonfinite.load(std::memory_order_relaxed) == 0) return;
  take_finite();
  run();
  AddNonfiniteActivationTerms(problem, buffers, serial);
}

}  // namespace canopy::conv

#endif  // CANOPY_CONV_NONFINITE_H_
