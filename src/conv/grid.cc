// SPDX-License-Identifier: Apache-2.0
#include "conv/grid.h"

#include <algorithm>

#include "base/checked_math.h"

namespace canopy::conv {
namespace {

class SegmentList {
 public:
  SegmentList(kernels::Segment* segments, int64_t step) : segments_(segments), step_(step) {}

  void Add(int64_t source, int64_t begin, int64_t count) {
    if (count_ > 0) {
      kernels::Segment& last = segments_[count_ - 1];
      if (last.begin + last.count == begin && last.source + last.count * step_ == source) {
        last.count += static_cast<int32_t>(count);
        return;
      }
    }
    segments_[count_++] = {source, static_cast<int32_t>(begin), static_cast<int32_t>(count)};
  }
  int64_t count() const { return count_; }

 private:
  kernels::Segment* segments_;
  int64_t step_;
  int64_t count_ = 0;
};

}  // namespace

void ValidRange(int64_t step, int64_t shift, int64_t size, int64_t walk, int64_t* low, int64_t* high) {
  *low = shift >= 0 ? 0 : base::CeilDiv(-shift, step);
  *high = size - shift <= 0 ? 0 : std::min(walk, base::CeilDiv(size - shift, step));
}

PixelMap InputMap(const ConvProblem& problem, int64_t tap) {
  const Geometry& g = problem.geometry;
  const auto& strides = problem.input.strides;
  const Extent3 at = {tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1], tap % g.kernel[2]};
  PixelMap map;
  map.walk = g.output_size;
  map.step = g.stride;
  map.size = g.input_size;
  for (int axis = 0; axis < 3; ++axis) map.shift[axis] = at[axis] * g.dilation[axis] - g.pad_begin[axis];
  map.batch_stride = strides[0];
  map.stride = {strides[2], strides[3], strides[4]};
  return map;
}

PixelMap OutputMap(const ConvProblem& problem) {
  const auto& strides = problem.output.strides;
  PixelMap map;
  map.walk = map.size = problem.geometry.output_size;
  map.batch_stride = strides[0];
  map.stride = {strides[2], strides[3], strides[4]};
  return map;
}

int64_t BuildSegments(const PixelMap& map, int64_t begin, int64_t count, kernels::Segment* segments) {
  SegmentList list(segments, map.element_step());
  int64_t w = begin % map.walk[2];
  int64_t row = begin / map.walk[2];
  int64_t h = row % map.walk[1];
  row /= map.walk[1];
  int64_t d = row % map.walk[0];
  int64_t n = row / map.walk[0];
  int64_t low, high;
  ValidRange(map.step[2], map.shift[2], map.size[2], map.walk[2], &low, &high);
  for (int64_t done = 0; done < count;) {
    const int64_t length = std::min(map.walk[2] - w, count - done);
    const int64_t source_d = d * map.step[0] + map.shift[0], source_h = h * map.step[1] + map.shift[1];
    if (source_d >= 0 && source_d < map.size[0] && source_h >= 0 && source_h < map.size[1]) {
      const int64_t first = std::max(w, low), last = std::min(w + length, high);
      if (first < last) {
        const int64_t source = n * map.batch_stride + source_d * map.stride[0] + source_h * map.stride[1] +
                               (first * map.step[2] + map.shift[2]) * map.stride[2];
        list.Add(source, done + first - w, last - first);
      }
    }
    done += length;
    w = 0;
    if (++h == map.walk[1]) {
      h = 0;
      if (++d == map.walk[0]) {
        d = 0;
        ++n;
      }
    }
  }
  return list.count();
}

std::vector<AxisPhase> ForwardPhases(const Geometry& g, int axis) {
  std::vector<AxisPhase> phases(1);
  AxisPhase& phase = phases.front();
  phase.walk = g.output_size[axis];
  phase.source_step = g.stride[axis];
  phase.taps.reserve(static_cast<size_t>(g.kernel[axis]));
  for (int64_t k = 0; k < g.kernel[axis]; ++k) phase.taps.push_back({k, k * g.dilation[axis] - g.pad_begin[axis]});
  return phases;
}

std::vector<AxisPhase> BackwardDataPhases(const Geometry& g, int axis, bool* gaps) {
  const int64_t stride = g.stride[axis], size = g.input_size[axis];
  std::vector<AxisPhase> phases;
  std::vector<int64_t> residues;  // of phases, in order
  const int64_t most = std::min({stride, g.kernel[axis], size});
  phases.reserve(static_cast<size_t>(most));
  residues.reserve(static_cast<size_t>(most));
  for (int64_t k = 0; k < g.kernel[axis]; ++k) {
    const int64_t residue = ((k * g.dilation[axis] - g.pad_begin[axis]) % stride + stride) % stride;
    if (residue >= size) continue;  // beyond the image: no coordinate has it
    const auto found = std::find(residues.begin(), residues.end(), residue);
    const size_t at = static_cast<size_t>(found - residues.begin());
    if (found == residues.end()) {
      residues.push_back(residue);
      AxisPhase phase;
      phase.walk = base::CeilDiv(size - residue, stride);
      phase.result_step = stride;
      phase.result_shift = residue;
      phase.taps.reserve(static_cast<size_t>(base::CeilDiv(g.kernel[axis], stride)));
      phases.push_back(std::move(phase));
    }
    phases[at].taps.push_back({k, (residue + g.pad_begin[axis] - k * g.dilation[axis]) / stride});
  }
  *gaps = static_cast<int64_t>(phases.size()) < std::min(stride, size);
  return phases;
}

bool TouchesPadding(const AxisPhase& phase, int64_t source_size) {
  return std::any_of(phase.taps.begin(), phase.taps.end(), [&](const AxisTap& tap) {
    return tap.shift < 0 || (phase.walk - 1) * phase.source_step + tap.shift >= source_size;
  });
}

bool MeetsPadding(const Geometry& g) {
  for (int axis = 0; axis < 3; ++axis) {
    for (const AxisPhase& phase : ForwardPhases(g, axis)) {
      if (TouchesPadding(phase, g.input_size[axis])) return true;
    }
  }
  return false;
}

}  // namespace canopy::conv
