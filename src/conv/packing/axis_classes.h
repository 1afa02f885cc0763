// SPDX-License-Identifier: Apache-2.0
// One axis of the result, cut into classes of positions that meet the same kernel offsets: inside a class no tap falls
// into the padding or between the strides, so products over it multiply no zero. Where so many positions are at a
// border that hardly two meet the same offsets, the axis is cut by these instead, and classes add up.
#ifndef CANOPY_CONV_PACKING_AXIS_CLASSES_H_
#define CANOPY_CONV_PACKING_AXIS_CLASSES_H_

#include <cstdint>
#include <vector>

#include "conv/problem.h"

namespace canopy::conv::packing {

struct AxisClass {
  struct Tap {
    int64_t kernel;
    int64_t source;  // coordinate that position 0 meets
  };

  // Position i is the result's coordinate first + i * step and meets source coordinates taps[t].source + i *
  // source_step.
  int64_t first = 0, step = 1, count = 0;
  int64_t source_step = 1;
  std::vector<Tap> taps;  // none: the result is 0 there
  bool adds = false;      // to what a class before it gives its positions

  // Its positions in [begin, end) of the result: [*low, *high).
  void Clip(int64_t begin, int64_t end, int64_t* low, int64_t* high) const;
};

// The classes of the forward computation's output or of backward data's input; together they are the whole axis.
std::vector<AxisClass> AxisClasses(const Geometry& geometry, int axis, bool forward);

// Likewise, but the positions that some kernel offsets meet are a class. Where of a phase's offsets none meets all
// positions, that to which others could add, these are cut as above.
std::vector<AxisClass> AxisClassesByTaps(const Geometry& geometry, int axis, bool forward);

// Coordinates begin, begin + step, ..., `count` of them.
struct AxisRange {
  int64_t begin = 0, step = 1, count = 0;

  int64_t Index(int64_t coordinate) const {
    return step == 1 ? coordinate - begin : (coordinate - begin) / step;  // divisions take longer than all else here
  }
};

// What positions [begin, end) of the result read of the source; `step` is that of LoadStep.
AxisRange SourceRange(const std::vector<AxisClass>& classes, int64_t step, int64_t begin, int64_t end);

// The distance of the source coordinates that are ever read: the classes' source step where all taps agree modulo it.
int64_t LoadStep(const std::vector<AxisClass>& classes);

}  // namespace canopy::conv::packing

#endif  // CANOPY_CONV_PACKING_AXIS_CLASSES_H_
