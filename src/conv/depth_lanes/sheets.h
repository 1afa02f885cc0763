// SPDX-License-Identifier: Apache-2.0
// Planes of as many channels as a vector has lanes, turned into sheets of vectors, one a pixel, and back; converted on
// the way. Where channels lie side by side in memory a pixel is a vector as it stands.
#ifndef CANOPY_CONV_DEPTH_LANES_SHEETS_H_
#define CANOPY_CONV_DEPTH_LANES_SHEETS_H_

#include <cstdint>

#include "conv/problem.h"
#include "conv/sheets/lane_blocks.h"
#include "conv/tensor_lines.h"
#include "kernels/depth_lanes/contract.h"

namespace canopy::conv::depth_lanes {

// Rows of a plane from their first column on.
struct PixelRows {
  int64_t depth = 0, first = 0, rows = 0, columns = 0;
};

// Whether a vector of neighbouring channels is read at once.
bool SideBySide(const Operand& operand);

// What conversions need besides: lines of every lane.
inline constexpr int64_t kLinePixels = 256, kLinePitch = kLinePixels + kernels::kLineSlack;
inline int64_t LineFloats(int64_t lanes) { return lanes * kLinePitch; }

class SheetReader {
 public:
  SheetReader(const void* base, const Operand& operand, const numerics::NumericRule& rule)
      : operand_(operand), reader_(base, operand.dtype, rule) {}

  void TakeFiniteOnly() { reader_.TakeFiniteOnly(); }

  // The vector of pixel i, counted row by row, to `to` + places[i]. Places of a row's pixels follow one another. Lanes
  // without a plane are left as they are.
  void Load(const sheets::LaneBlock& block, const PixelRows& pixels, const int64_t* places, float* lines,
            float* to) const;

  // Where the element of a row's first pixel in the block's first channel lies or would.
  const char* Address(const sheets::LaneBlock& block, int64_t depth, int64_t row) const;

  // The vector of a row's first pixel where whole vectors may be read as they stand, else nullptr.
  const float* Direct(const sheets::LaneBlock& block, int64_t depth, int64_t row) const;

 private:
  void LoadRun(int64_t element, int64_t count, int64_t channels, const int64_t* places, float* lines, float* to) const;

  const Operand& operand_;
  LineReader reader_;
};

class SheetWriter {
 public:
  SheetWriter(void* base, const Operand& operand, bool saturate)
      : operand_(operand), writer_(base, operand.dtype, saturate) {}

  // The converse of Load, from vectors that follow one another.
  void Store(const sheets::LaneBlock& block, const PixelRows& pixels, const float* from, float* lines) const;

  const char* Address(const sheets::LaneBlock& block, int64_t depth, int64_t row) const;
  float* Direct(const sheets::LaneBlock& block, int64_t depth, int64_t row) const;

 private:
  void StoreRun(int64_t element, int64_t count, int64_t channels, const float* from, float* lines) const;

  const Operand& operand_;
  LineWriter writer_;
};

}  // namespace canopy::conv::depth_lanes

#endif  // CANOPY_CONV_DEPTH_LANES_SHEETS_H_
