// SPDX-License-Identifier: Apache-2.0
// What every product of a data gradient or forward has at both ends: from the source to the windows of a box, and from
// sums to the box's results.
#ifndef CANOPY_CONV_WINOGRAD_DATA_BOXES_H_
#define CANOPY_CONV_WINOGRAD_DATA_BOXES_H_

#include <array>
#include <cstdint>

#include "conv/elements.h"
#include "conv/packing/boxes.h"
#include "conv/packing/slab.h"
#include "conv/tensor_lines.h"
#include "conv/winograd/data_lister.h"
#include "conv/winograd/data_step.h"

namespace canopy::conv::winograd {

// A panel's sums: a tile's stand side by side; how far it is from tile to tile, and from point to point.
struct PointSums {
  const float* first;
  int64_t tile_step, point_step;
};

class DataBoxes {
 public:
  DataBoxes(const DataStep& step, const ConvProblem& problem, const Buffers& buffers)
      : s_(step),
        t_(step.tiling_),
        lists_(step),
        p_(problem),
        b_(buffers),
        source_(s_.forward_ ? b_.input : b_.output, s_.source_.dtype, p_.rule),
        result_(s_.forward_ ? b_.output_result : b_.input_result, s_.result_.dtype, p_.rule.saturate) {
    for (int64_t point = 0; point < t_.points(); ++point) without_[point] = t_.KindsWithout(t_.PointAt(point));
  }

  const DataLister& lists() const { return lists_; }

  // The listed tiles that have numbers at a point.
  const TileRange& TilesAt(int64_t point, const DataScratch& scratch) const {
    return scratch.listed->tiles_without[without_[point]];
  }

  // Source channels [begin, end) of the group.
  void TransformBox(int64_t group, const packing::Box& box, int64_t begin, int64_t end, const DataScratch& scratch,
                    float* windows) const;

  // From the sums to results.
  void TransformBack(int64_t panel, int64_t phase, const packing::Box& box, const PointSums& sums,
                     const DataScratch& scratch) const;

  // From there to the tensor. Returns whether all are finite.
  bool FinishPanel(int64_t group, int64_t panel, const packing::Box& box, const DataScratch& scratch) const;

 private:
  packing::SlabShape ShapeOf(const packing::Box& box) const;
  void AddBias(int64_t first, int64_t channels, int64_t positions, int64_t lanes, float* results, float* bias) const;
  void Store(int64_t first, int64_t channels, const packing::Box& box, int64_t lanes, const float* results,
             const DataScratch& scratch) const;

  // Depths (axis 0), rows (1) or columns (2) of the box's results.
  int64_t Results(const packing::Box& box, int axis) const { return s_.Results(box, axis).count; }

  const DataStep& s_;
  const Tiling& t_;
  DataLister lists_;
  const ConvProblem& p_;
  const Buffers& b_;
  LineReader source_;
  LineWriter result_;
  std::array<int, kernels::WinogradPoints(2)> without_{};  // kinds of tiles, at each point
};

}  // namespace canopy::conv::winograd

#endif  // CANOPY_CONV_WINOGRAD_DATA_BOXES_H_
