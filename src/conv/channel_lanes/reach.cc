// SPDX-License-Identifier: Apache-2.0
#include "conv/channel_lanes/reach.h"

#include <algorithm>

namespace canopy::conv::channel_lanes {

double ProductsOf(int64_t batch, const AxesClasses& classes) {
  double products = static_cast<double>(batch);
  for (const std::vector<packing::AxisClass>& axis : classes) {
    double met = 0;
    for (const packing::AxisClass& one : axis) {
      met += static_cast<double>(one.count) * static_cast<double>(one.taps.size());
    }
    products *= met;
  }
  return products;
}

double ProductsOf(int64_t batch, const AxesClasses& classes, int64_t least) {
  double products = 0;
  for (const packing::AxisClass& d : classes[0]) {
    for (const packing::AxisClass& h : classes[1]) {
      const int64_t positions = batch * d.count * h.count;
      const double taps = static_cast<double>(d.taps.size() * h.taps.size());
      for (const packing::AxisClass& w : classes[2]) {
        products +=
            static_cast<double>(std::max(least, positions * w.count)) * taps * static_cast<double>(w.taps.size());
      }
    }
  }
  return products;
}

Reach ReachOf(const packing::Boxes& boxes, int64_t batch, const Extent3& size, const AxesClasses& classes,
              const std::array<int64_t, 3>& steps) {
  Reach reach;
  reach.products = ProductsOf(batch, classes);
  reach.pixels = static_cast<double>(batch);
  reach.slab_pixels = boxes.extent()[0];
  for (int axis = 0; axis < 3; ++axis) {
    double loaded = 0;
    int64_t most = 0;
    const int64_t block = boxes.extent()[axis + 1];
    for (int64_t at = 0; at < size[axis]; at += block) {
      const int64_t count =
          packing::SourceRange(classes[axis], steps[axis], at, std::min(size[axis], at + block)).count;
      loaded += static_cast<double>(count);
      most = std::max(most, count);
    }
    reach.pixels *= loaded;
    reach.slab_pixels *= most;
    reach.classes *= static_cast<double>(classes[axis].size());
    int64_t placed = 0;
    for (const packing::AxisClass& one : classes[axis]) placed += one.count;
    reach.covers *= static_cast<double>(placed) / static_cast<double>(std::max<int64_t>(1, size[axis]));
  }
  return reach;
}

}  // namespace canopy::conv::channel_lanes
