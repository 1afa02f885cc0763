// SPDX-License-Identifier: Apache-2.0
// One element at a time, each straight from its sum. Slow and obvious; the judge of everything else.
#ifndef CANOPY_TESTS_ORACLE_DEFINITION_H_
#define CANOPY_TESTS_ORACLE_DEFINITION_H_

#include "tests/oracle/geometry.h"

namespace canopy::oracle {

double ResponseAt(const Geometry& geometry, const Array& image, const Array& weight, const Index5& index);
double ImageAt(const Geometry& geometry, const Array& response, const Array& weight, const Index5& index);
double WeightAt(const Geometry& geometry, const Array& image, const Array& response, const Index5& index);

// The sum of one channel over batch and space: a bias gradient.
double ChannelSumAt(int64_t batch, const Extent3& size, const Array& array, int64_t channel);

}  // namespace canopy::oracle

#endif  // CANOPY_TESTS_ORACLE_DEFINITION_H_
