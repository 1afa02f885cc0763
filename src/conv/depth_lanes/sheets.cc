// SPDX-License-Identifier: Apache-2.0
#include "conv/depth_lanes/sheets.h"

#include <algorithm>

namespace canopy::conv::depth_lanes {
namespace {

using sheets::LaneBlock;

int64_t Lanes() { return kernels::DepthLanes().lanes; }

kernels::Segment Whole(int64_t count) { return {0, 0, static_cast<int32_t>(count)}; }

int64_t ElementAt(const Operand& operand, const LaneBlock& block, int64_t depth, int64_t row) {
  const auto& s = operand.strides;
  return block.first_image * s[0] + block.first_group * s[1] + depth * s[2] + row * s[3];
}

// Calls visit(element of a run's first pixel in the block's first channel, index of the pixel, count of pixels, first
// lane): rows that follow one another in memory are one run where pixels lie side by side.
template <class F>
void ForEachRun(const Operand& operand, const LaneBlock& block, const PixelRows& pixels, const F& visit) {
  const auto& s = operand.strides;
  const bool dense = s[3] == pixels.columns * s[4] && !SideBySide(operand);
  const int64_t runs = dense ? 1 : pixels.rows, count = dense ? pixels.rows * pixels.columns : pixels.columns;
  const int64_t first = ElementAt(operand, block, pixels.depth, pixels.first);
  for (int64_t i = 0; i < block.images; ++i) {
    for (int64_t r = 0; r < runs; ++r) {
      visit(first + i * s[0] + r * s[3], r * pixels.columns, count, i * block.groups);
    }
  }
}

// Whether a block's vectors are whole and lie in memory as they stand in a sheet.
bool StandsAsVectors(const Operand& operand, const LaneBlock& block) {
  return SideBySide(operand) && block.images == 1 && block.groups == Lanes();
}

}  // namespace

bool SideBySide(const Operand& operand) { return operand.strides[1] == 1 && operand.strides[4] != 1; }

void SheetReader::Load(const LaneBlock& block, const PixelRows& pixels, const int64_t* places, float* lines,
                       float* to) const {
  ForEachRun(operand_, block, pixels, [&](int64_t element, int64_t pixel, int64_t count, int64_t lane) {
    LoadRun(element, count, block.groups, places + pixel, lines, to + lane);
  });
}

void SheetReader::LoadRun(int64_t element, int64_t count, int64_t channels, const int64_t* places, float* lines,
                          float* to) const {
  const auto& s = operand_.strides;
  if (SideBySide(operand_)) return reader_.CopyRows(element, s[4], count, channels, to + places[0], Lanes());
  if (s[4] == 1 && reader_.Transpose(element, s[1], channels, count, to, places)) return;
  for (int64_t begin = 0; begin < count; begin += kLinePixels) {
    const int64_t pixels = std::min(kLinePixels, count - begin);
    const kernels::Segment whole = Whole(pixels);
    for (int64_t c = 0; c < channels; ++c) {
      reader_.Fetch(element + c * s[1] + begin * s[4], &whole, 1, s[4], pixels, lines + c * kLinePitch);
    }
    kernels::Lines().transpose(lines, kLinePitch, channels, pixels, to, places + begin);
  }
}

const char* SheetReader::Address(const LaneBlock& block, int64_t depth, int64_t row) const {
  return static_cast<const char*>(reader_.Address(ElementAt(operand_, block, depth, row)));
}

const float* SheetReader::Direct(const LaneBlock& block, int64_t depth, int64_t row) const {
  return StandsAsVectors(operand_, block) ? reader_.Direct(ElementAt(operand_, block, depth, row), 1) : nullptr;
}

void SheetWriter::Store(const LaneBlock& block, const PixelRows& pixels, const float* from, float* lines) const {
  ForEachRun(operand_, block, pixels, [&](int64_t element, int64_t pixel, int64_t count, int64_t lane) {
    StoreRun(element, count, block.groups, from + pixel * Lanes() + lane, lines);
  });
}

void SheetWriter::StoreRun(int64_t element, int64_t count, int64_t channels, const float* from, float* lines) const {
  const auto& s = operand_.strides;
  const int64_t lanes = Lanes();
  if (SideBySide(operand_)) {
    if (float* to = writer_.Direct(element, 1)) {
      return kernels::Lines().copy_rows(from, lanes, count, channels, to, s[4]);
    }
    const kernels::Segment vector = Whole(channels);
    for (int64_t i = 0; i < count; ++i) writer_.Store(element + i * s[4], &vector, 1, 1, from + i * lanes);
    return;
  }
  int64_t offsets[kernels::kMostDepthLanes];
  const auto set_offsets = [&](int64_t pitch) {
    for (int64_t c = 0; c < channels; ++c) offsets[c] = c * pitch;
  };
  if (float* to = writer_.Direct(element, s[4])) {
    set_offsets(s[1]);
    return kernels::Lines().transpose(from, lanes, count, channels, to, offsets);
  }
  if (s[4] == 1 && s[1] == count && count <= kLinePixels) {
    set_offsets(count);
    kernels::Lines().transpose(from, lanes, count, channels, lines, offsets);
    const kernels::Segment all = Whole(channels * count);
    return writer_.Store(element, &all, 1, 1, lines);
  }
  set_offsets(kLinePitch);
  for (int64_t begin = 0; begin < count; begin += kLinePixels) {
    const int64_t pixels = std::min(kLinePixels, count - begin);
    const kernels::Segment whole = Whole(pixels);
    kernels::Lines().transpose(from + begin * lanes, lanes, pixels, channels, lines, offsets);
    for (int64_t c = 0; c < channels; ++c) {
      writer_.Store(element + c * s[1] + begin * s[4], &whole, 1, s[4], lines + c * kLinePitch);
    }
  }
}

const char* SheetWriter::Address(const LaneBlock& block, int64_t depth, int64_t row) const {
  return static_cast<const char*>(writer_.Address(ElementAt(operand_, block, depth, row)));
}

float* SheetWriter::Direct(const LaneBlock& block, int64_t depth, int64_t row) const {
  return StandsAsVectors(operand_, block) ? writer_.Direct(ElementAt(operand_, block, depth, row), 1) : nullptr;
}

}  // namespace canopy::conv::depth_lanes
