// SPDX-License-Identifier: Apache-2.0
// A three-axis correlation over vectors of lanes, by stencil kernels. Everything lies in slabs: one vector a coordinate
// and channel. On one axis, the vertical one, several results and taps share their source rows in registers; there,
// rows before the source and behind it are read as zeros. On the two others absent positions are left out.
#ifndef CANOPY_CONV_DEPTHWISE_CORRELATE_H_
#define CANOPY_CONV_DEPTHWISE_CORRELATE_H_

#include <array>
#include <cstdint>

#include "conv/depthwise/axis_law.h"
#include "kernels/stencil/contract.h"

namespace canopy::conv::depthwise {

// Where coordinate (0, 0, 0) of channel 0 lies, and the floats between neighbours on each axis.
struct Slab {
  float* origin = nullptr;
  std::array<int64_t, 3> pitch{};
  int64_t channel_pitch = 0;
};

// Which axis is which: kernel rows run along `vertical`, kernel positions along `along`; `across` is left to loops.
struct AxisOrder {
  int vertical = 1, along = 2, across = 0;
};

struct Correlation {
  AxisLaws laws;  // in the slabs' coordinates
  Slab source, taps, result;
  int64_t channels = 1;     // of source and taps, summed over
  bool accumulate = false;  // to what the result holds
};

// The kernels of one instruction set by their number of rows.
class RowKernels {
 public:
  RowKernels();

  // The most rows, up to `wanted`, that there are kernels for.
  int Rows(int64_t wanted) const;
  // REQUIRES: Rows(rows) == rows. `group` takes several positions at once where that helps.
  const kernels::StencilRows& single(int rows) const { return *single_[rows]; }
  const kernels::StencilRows& group(int rows) const { return *group_[rows]; }

 private:
  const kernels::StencilRows* single_[kernels::kMostStencilRows + 1] = {};
  const kernels::StencilRows* group_[kernels::kMostStencilRows + 1] = {};
};

// Zero rows that Correlate reads before the source and behind it on the vertical axis, where a kernel takes `rows`.
struct Margins {
  int64_t before = 0, behind = 0;
};
Margins MarginsFor(const AxisLaw& vertical, int rows);

// Columns that Correlate wants room for. With at most kMostStencilTaps taps each, as many terms as a sum in FP32 may
// have before a second level.
inline constexpr int64_t kMostColumns = 64;

// No kernel takes more than `rows` rows. With one row no margin is read, so that an absent product cannot be NaN.
void Correlate(const Correlation& correlation, const AxisOrder& order, const RowKernels& kernels, int rows,
               kernels::StencilColumn* columns);

// Whether kernels of at most so many rows are called as those of at most so many others are.
bool SameCalls(const AxisLaw& vertical, int rows, int others);

// Time of all results of the vertical axis at one position and column, `positions` of them side by side, in vector
// multiply-adds at the peak rate.
double VerticalWork(const AxisLaw& vertical, int rows, int64_t positions, const RowKernels& kernels);

}  // namespace canopy::conv::depthwise

#endif  // CANOPY_CONV_DEPTHWISE_CORRELATE_H_
