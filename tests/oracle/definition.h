// SPDX-License-Identifier: Apache-2.0
// One element at a time, each straight from its sum. Slow and obvious; the judge of everything else.
#ifndef CANOPY_TESTS_ORACLE_DEFINITION_H_
#define CANOPY_TESTS_ORACLE_DEFINITION_H_

#include "tests/oracle/geometry.h"

namespace canopy::oracle {

// What is summed over an element's terms. The root of the sum of squares is the size that the element would have, were
// its terms' signs random: the yardstick for elements whose terms cancel.
enum class Sum { kTerms, kSquares };

double ResponseAt(const Geometry& geometry, const Array& image, const Array& weight, const Index5& index,
                  Sum sum = Sum::kTerms);
double ImageAt(const Geometry& geometry, const Array& response, const Array& weight, const Index5& index,
               Sum sum = Sum::kTerms);
double WeightAt(const Geometry& geometry, const Array& image, const Array& response, const Index5& index,
                Sum sum = Sum::kTerms);

// One channel over batch and space: a bias gradient.
double ChannelSumAt(int64_t batch, const Extent3& size, const Array& array, int64_t channel, Sum sum = Sum::kTerms);

}  // namespace canopy::oracle

#endif  // CANOPY_TESTS_ORACLE_DEFINITION_H_
