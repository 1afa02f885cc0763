// SPDX-License-Identifier: Apache-2.0
// What the boxes of a result read of the source, for the planner to count.
#ifndef CANOPY_CONV_CHANNEL_LANES_REACH_H_
#define CANOPY_CONV_CHANNEL_LANES_REACH_H_

#include <array>
#include <cstdint>
#include <vector>

#include "conv/packing/axis_classes.h"
#include "conv/packing/boxes.h"

namespace canopy::conv::channel_lanes {

using AxesClasses = std::array<std::vector<packing::AxisClass>, 3>;

// Pairs of a position and a tap whose pixel exists, of all images.
double ProductsOf(int64_t batch, const AxesClasses& classes);

// Likewise, where a class of fewer positions than `least` takes as long as that many.
double ProductsOf(int64_t batch, const AxesClasses& classes, int64_t least);

struct Reach {
  double products = 0;      // ProductsOf
  double pixels = 0;        // loaded by all boxes
  int64_t slab_pixels = 0;  // by the largest
  double classes = 1;       // of a box, at most
  double covers = 1;        // classes that a position is in
};

// `size`: of the result that `boxes` cut; `steps`: LoadStep of each axis.
Reach ReachOf(const packing::Boxes& boxes, int64_t batch, const Extent3& size, const AxesClasses& classes,
              const std::array<int64_t, 3>& steps);

}  // namespace canopy::conv::channel_lanes

#endif  // CANOPY_CONV_CHANNEL_LANES_REACH_H_
