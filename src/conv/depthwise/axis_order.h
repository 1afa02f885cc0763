// SPDX-License-Identifier: Apache-2.0
// Which axis should share its rows in registers, and how many at a time.
#ifndef CANOPY_CONV_DEPTHWISE_AXIS_ORDER_H_
#define CANOPY_CONV_DEPTHWISE_AXIS_ORDER_H_

#include <array>
#include <string>
#include <vector>

#include "conv/depthwise/axis_law.h"
#include "conv/depthwise/correlate.h"

namespace canopy::conv::depthwise {

using LawLists = std::array<std::vector<AxisLaw>, 3>;

struct OrderChoice {
  AxisOrder order;
  int rows = 1;
  double work = 0;  // of one channel of a lane block, in vector multiply-adds at the peak rate
};

// The cheapest order for all combinations of the laws.
OrderChoice ChooseOrder(const LawLists& laws, const RowKernels& kernels);

// The most source coordinates that parts of `part` result (or tap) coordinates of one axis read.
int64_t MostSources(const std::vector<AxisLaw>& laws, int64_t extent, int64_t part, bool parts_are_results);

// The source coordinates that `part` reads, for all laws together.
Range SourcesOf(const std::vector<AxisLaw>& laws, Range part, bool parts_are_results);

std::string DescribeOrder(const OrderChoice& choice);

}  // namespace canopy::conv::depthwise

#endif  // CANOPY_CONV_DEPTHWISE_AXIS_ORDER_H_
