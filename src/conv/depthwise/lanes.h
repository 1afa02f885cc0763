// SPDX-License-Identifier: Apache-2.0
// Slabs of lanes: boxes of planes with the lanes of a block side by side, copied from tensors and back.
#ifndef CANOPY_CONV_DEPTHWISE_LANES_H_
#define CANOPY_CONV_DEPTHWISE_LANES_H_

#include <array>
#include <cstdint>

#include "conv/depthwise/axis_law.h"
#include "conv/depthwise/correlate.h"
#include "conv/problem.h"
#include "conv/sheets/lane_blocks.h"
#include "conv/tensor_lines.h"
#include "kernels/stencil/contract.h"

namespace canopy::conv::depthwise {

using Box = std::array<Range, 3>;

// A box of coordinates as vectors of lanes, with zero rows around it on the vertical axis.
struct SlabShape {
  SlabShape() = default;
  SlabShape(const Box& box, int64_t channels, int64_t lanes, int vertical, Margins margins);

  Slab At(float* memory) const;
  // Zeroes the margins of a slab that lies at `memory`.
  void ClearMargins(float* memory) const;

  Box box;
  int64_t channels = 1, lanes = 1;
  int vertical = 1;
  Margins margins;
  std::array<int64_t, 3> pitch{};
  int64_t channel_pitch = 0;
  int64_t floats = 0;
};

// What copying needs besides: lines of every lane to convert in, and a line of zeros.
class LaneScratch {
 public:
  static constexpr int64_t kRun = 256;  // elements of a line that are moved together
  static int64_t Floats(int64_t lanes) { return (lanes + 1) * (kRun + kernels::kLineSlack); }

  LaneScratch(float* memory, int64_t lanes) : memory_(memory), lanes_(lanes) {
    for (int64_t i = 0; i < kRun; ++i) line(lanes_)[i] = 0;
  }
  float* line(int64_t lane) const { return memory_ + lane * (kRun + kernels::kLineSlack); }
  const float* zeros() const { return line(lanes_); }

 private:
  float* memory_;
  int64_t lanes_;
};

// How a tensor's elements lie, in elements.
struct LaneTensor {
  std::array<int64_t, 5> strides{};  // of image (0 for weights), channel within the group, depth, height, width
  int64_t group_stride = 0;
  int64_t first = 0;

  int64_t Offset(const sheets::LaneBlock& block, int64_t lane) const {
    return first + (block.first_image + lane / block.groups) * strides[0] +
           (block.first_group + lane % block.groups) * group_stride;
  }
};

// The box of `shape` into the slab at `memory`; lanes without a plane are zero. Margins are left as they are.
void FetchLanes(const LineReader& reader, const LaneTensor& tensor, const sheets::LaneBlock& block,
                const SlabShape& shape, const LaneScratch& scratch, float* memory);

// And back, without lanes that have no plane.
void StoreLanes(const LineWriter& writer, const LaneTensor& tensor, const sheets::LaneBlock& block,
                const SlabShape& shape, const LaneScratch& scratch, const float* memory);

}  // namespace canopy::conv::depthwise

#endif  // CANOPY_CONV_DEPTHWISE_LANES_H_
