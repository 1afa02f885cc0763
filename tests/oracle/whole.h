// SPDX-License-Identifier: Apache-2.0
// Whole tensors at a time, fast enough for a billion operations in seconds: the kernel's placements become columns of
// a matrix, block by block. There an absent tap is a zero, which is the same only while all values are finite;
// tensors with an Inf or a NaN go element by element through the definition. All sums are in double precision.
#ifndef CANOPY_TESTS_ORACLE_WHOLE_H_
#define CANOPY_TESTS_ORACLE_WHOLE_H_

#include "tests/oracle/geometry.h"

namespace canopy::oracle {

void WholeResponse(const Geometry& geometry, const Array& image, const Array& weight, const Result& result);
void WholeImage(const Geometry& geometry, const Array& response, const Array& weight, const Result& result);
void WholeWeight(const Geometry& geometry, const Array& image, const Array& response, const Result& result);

}  // namespace canopy::oracle

#endif  // CANOPY_TESTS_ORACLE_WHOLE_H_
