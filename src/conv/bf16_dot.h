// SPDX-License-Identifier: Apache-2.0
// Whether products of BF16 numbers are computed by the processor's BF16 dot products, which add two products to an FP32
// sum at a time, or by FP32 multiply-adds. Having the instruction is no reason: on some processors it is slower.
#ifndef CANOPY_CONV_BF16_DOT_H_
#define CANOPY_CONV_BF16_DOT_H_

#include "base/cpu.h"
#include "conv/problem.h"

namespace canopy::conv {

// Multiply-adds that dot products do in the time of one FP32 multiply-add, as recorded; 0 where nothing is.
double RecordedBf16DotRate(const base::CpuFacts& cpu);

// The rate above if multiplicands of these types, rounded by the rule, are BF16 numbers and dot products are worth it;
// 0: FP32 is to be used. `scattered_rows`: of tiles with such rows, which a matrix unit need not turn.
double Bf16DotRate(numerics::DType x, numerics::DType y, const numerics::NumericRule& rule,
                   bool scattered_rows = false);

// Likewise, of vectors' dot products, whether there is a matrix unit or not.
double Bf16VectorDotRate(numerics::DType x, numerics::DType y, const numerics::NumericRule& rule);

// Whether dot products of that rate are a matrix unit's.
bool ByMatrixUnit(double dot_rate);

// Work of turning one weight for a matrix unit, which some tiles do once for their pixels, besides that rate; 0 without
// products by such a unit.
double WorkATurnedWeight(double dot_rate);

// While it lives, dot products are used wherever this processor has them, or nowhere. For tests: it changes the whole
// process; what was planned before stays as it is.
class ScopedBf16Dot {
 public:
  explicit ScopedBf16Dot(bool use);
  ~ScopedBf16Dot();
  ScopedBf16Dot(const ScopedBf16Dot&) = delete;
  ScopedBf16Dot& operator=(const ScopedBf16Dot&) = delete;
};

}  // namespace canopy::conv

#endif  // CANOPY_CONV_BF16_DOT_H_
