// SPDX-License-Identifier: Apache-2.0
#include "conv/depthwise/lanes.h"

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"

namespace canopy::conv::depthwise {
namespace {

// A slab's rows as few runs as possible: rows that follow one another in the tensor and in the slab are one.
struct Runs {
  Runs(const LaneTensor& tensor, const SlabShape& shape) {
    for (int axis = 0; axis < 3; ++axis) count[axis] = shape.box[axis].size();
    for (int axis = 1; axis >= 0; --axis) {
      const bool dense = tensor.strides[2 + axis] == count[2] * tensor.strides[4] &&
                         shape.pitch[axis] == count[2] * shape.lanes && (axis == 1 || count[1] == 1);
      if (!dense && count[axis] != 1) continue;
      count[2] *= count[axis];
      count[axis] = 1;
    }
  }

  // visit(element offset in the tensor, without the lane's; float offset in the slab; elements)
  template <class F>
  void ForEach(const LaneTensor& tensor, const SlabShape& shape, const F& visit) const {
    const auto& strides = tensor.strides;
    for (int64_t channel = 0; channel < shape.channels; ++channel) {
      for (int64_t d = 0; d < count[0]; ++d) {
        for (int64_t h = 0; h < count[1]; ++h) {
          const int64_t element = channel * strides[1] + (shape.box[0].begin + d) * strides[2] +
                                  (shape.box[1].begin + h) * strides[3] + shape.box[2].begin * strides[4];
          visit(element, channel * shape.channel_pitch + d * shape.pitch[0] + h * shape.pitch[1], count[2]);
        }
      }
    }
  }

  std::array<int64_t, 3> count;
};

// Lanes lie side by side in memory: a group is one channel and one image gives all of them.
bool SideBySide(const LaneTensor& tensor, const sheets::LaneBlock& block, const SlabShape& shape) {
  return block.images == 1 && tensor.group_stride == 1 && shape.channels == 1 && tensor.strides[4] != 1;
}

kernels::Segment Whole(int64_t count) { return {0, 0, static_cast<int32_t>(count)}; }

}  // namespace

SlabShape::SlabShape(const Box& wanted, int64_t channel_count, int64_t lane_count, int vertical_axis, Margins around)
    : box(wanted), channels(channel_count), lanes(lane_count), vertical(vertical_axis), margins(around) {
  int64_t extent[3];
  for (int axis = 0; axis < 3; ++axis) {
    extent[axis] = box[axis].size() + (axis == vertical ? margins.before + margins.behind : 0);
  }
  pitch[2] = lanes;
  pitch[1] = extent[2] * lanes;
  // Rows 4 KiB apart share their place in the first-level cache: a kernel reads a dozen of them.
  if (extent[1] > 1 && pitch[1] * static_cast<int64_t>(sizeof(float)) % 4096 == 0) pitch[1] += lanes;
  pitch[0] = extent[1] * pitch[1];
  channel_pitch = extent[0] * pitch[0];
  floats = channels * channel_pitch;
}

Slab SlabShape::At(float* memory) const {
  Slab slab;
  slab.origin = memory + margins.before * pitch[vertical];
  slab.pitch = pitch;
  slab.channel_pitch = channel_pitch;
  return slab;
}

void SlabShape::ClearMargins(float* memory) const {
  if (margins.before + margins.behind == 0) return;
  // Slabs of what lies outside the vertical axis, each a stretch of memory that starts and ends with margins.
  const int64_t stretch = vertical == 0 ? channel_pitch : pitch[vertical - 1];
  const size_t before = static_cast<size_t>(margins.before * pitch[vertical]);
  const size_t behind = static_cast<size_t>(margins.behind * pitch[vertical]);
  const int64_t inside = box[vertical].size() * pitch[vertical];
  for (float* at = memory; at < memory + floats; at += stretch) {
    std::memset(at, 0, before * sizeof(float));
    std::memset(at + before + inside, 0, behind * sizeof(float));
  }
}

void FetchLanes(const LineReader& reader, const LaneTensor& tensor, const sheets::LaneBlock& block,
                const SlabShape& shape, const LaneScratch& scratch, float* memory) {
  const kernels::StencilKernels& kernels = kernels::Stencils();
  const int64_t lanes = shape.lanes, step = tensor.strides[4];
  float* origin = shape.At(memory).origin;
  const bool side_by_side = SideBySide(tensor, block, shape);
  Runs(tensor, shape).ForEach(tensor, shape, [&](int64_t element, int64_t at, int64_t count) {
    float* to = origin + at;
    if (side_by_side) {
      const kernels::Segment pixel = Whole(block.lanes());
      element += tensor.Offset(block, 0);
      for (int64_t i = 0; i < count; ++i) reader.Fetch(element + i * step, &pixel, 1, 1, lanes, to + i * lanes);
      return;
    }
    for (int64_t begin = 0; begin < count; begin += LaneScratch::kRun) {
      const int64_t run = std::min(LaneScratch::kRun, count - begin);
      const kernels::Segment line = Whole(run);
      const float* lines[kernels::kMostLanes];
      for (int64_t l = 0; l < lanes; ++l) {
        if (l >= block.lanes()) {
          lines[l] = scratch.zeros();
          continue;
        }
        const int64_t from = element + tensor.Offset(block, l) + begin * step;
        lines[l] = reader.Direct(from, step);
        if (lines[l] == nullptr) {
          reader.Fetch(from, &line, 1, step, run, scratch.line(l));
          lines[l] = scratch.line(l);
        }
      }
      kernels.to_lanes(lines, run, to + begin * lanes);
    }
  });
}

void StoreLanes(const LineWriter& writer, const LaneTensor& tensor, const sheets::LaneBlock& block,
                const SlabShape& shape, const LaneScratch& scratch, const float* memory) {
  const kernels::StencilKernels& kernels = kernels::Stencils();
  const int64_t lanes = shape.lanes, step = tensor.strides[4];
  const bool side_by_side = SideBySide(tensor, block, shape);
  Runs(tensor, shape).ForEach(tensor, shape, [&](int64_t element, int64_t at, int64_t count) {
    const float* from = memory + at;
    if (side_by_side) {
      const kernels::Segment pixel = Whole(block.lanes());
      element += tensor.Offset(block, 0);
      for (int64_t i = 0; i < count; ++i) writer.Store(element + i * step, &pixel, 1, 1, from + i * lanes);
      return;
    }
    for (int64_t begin = 0; begin < count; begin += LaneScratch::kRun) {
      const int64_t run = std::min(LaneScratch::kRun, count - begin);
      const kernels::Segment line = Whole(run);
      float* lines[kernels::kMostLanes];
      const bool direct = writer.Direct(0, step) != nullptr;
      for (int64_t l = 0; l < block.lanes(); ++l) {
        lines[l] = direct ? writer.Direct(element + tensor.Offset(block, l) + begin * step, step) : scratch.line(l);
      }
      kernels.from_lanes(from + begin * lanes, run, block.lanes(), lines);
      if (direct) continue;
      for (int64_t l = 0; l < block.lanes(); ++l) {
        writer.Store(element + tensor.Offset(block, l) + begin * step, &line, 1, step, lines[l]);
      }
    }
  });
}

}  // namespace canopy::conv::depthwise
