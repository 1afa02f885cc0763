// SPDX-License-Identifier: Apache-2.0
#include "conv/pair_reader.h"

#include <algorithm>
#include <cstring>

namespace canopy::conv {

void PairReader::FetchLine(int64_t first, int64_t distance, bool alone, int64_t step, int64_t count, float* to) const {
  if (plain_ && step == 2) {
    lines_.zip_seconds(base_ + first, alone ? nullptr : base_ + first + distance, count, to);
    return;
  }
  uint16_t even[kChunk], odd[kChunk];
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t run = std::min(kChunk, count - i), offset = first + i * step;
    lines_.zip(Line(offset, step, run, even), alone ? nullptr : Line(offset + distance, step, run, odd), run, to + i);
  }
}

void PairReader::FetchGrid(int64_t first, int64_t distance, bool alone, int64_t row_step, int64_t rows, int64_t step,
                           int64_t count, float* to, int64_t to_step) const {
  if (plain_ && step == 1) {
    const uint16_t* even = base_ + first;
    return lines_.zip_rows(even, alone ? nullptr : even + distance, row_step, rows, count, to, to_step);
  }
  for (int64_t r = 0; r < rows; ++r) FetchLine(first + r * row_step, distance, alone, step, count, to + r * to_step);
}

void PairReader::ZipRows(int64_t offset, int64_t row_step, int64_t rows, int64_t count, float* to,
                         int64_t to_step) const {
  FetchGrid(offset, row_step, false, 2 * row_step, rows / 2, 1, count, to, to_step);
  if (rows % 2 != 0) FetchLine(offset + (rows - 1) * row_step, row_step, true, 1, count, to + rows / 2 * to_step);
}

void PairReader::FetchRun(int64_t offset, int64_t count, float* to) const {
  if (count % 2 != 0) to[count / 2] = 0;
  uint16_t chunk[kChunk];
  const int64_t most = plain_ ? count : kChunk;
  for (int64_t i = 0; i < count; i += most) {
    const int64_t run = std::min(most, count - i);
    const uint16_t* line = Line(offset + i, 1, run, chunk);
    std::memcpy(to + i / 2, line, static_cast<size_t>(run) * sizeof(uint16_t));
  }
}

void PairReader::FetchNumbers(int64_t offset, int64_t step, int64_t count, uint16_t* to) const {
  if (plain_ && step == 1) {
    std::memcpy(to, base_ + offset, static_cast<size_t>(count) * sizeof(uint16_t));
    return;
  }
  if (plain_ && step == 2) return lines_.every_second16(base_ + offset, 0, 1, count, to);
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t run = std::min(kChunk, count - i);
    Line(offset + i * step, step, run, to + i);
  }
}

void PairReader::FetchGrid(int64_t offset, int64_t row_step, int64_t rows, int64_t step, int64_t count, uint16_t* to,
                           int64_t to_step) const {
  if (plain_ && step == 1) return lines_.copy_rows16(base_ + offset, row_step, rows, count, to, to_step);
  if (plain_ && step == 2 && to_step == count) {
    return lines_.every_second16(base_ + offset, row_step, rows, count, to);
  }
  for (int64_t r = 0; r < rows; ++r) FetchNumbers(offset + r * row_step, step, count, to + r * to_step);
}

const uint16_t* PairReader::Line(int64_t offset, int64_t step, int64_t count, uint16_t* chunk) const {
  if (!plain_) {
    float line[kChunk + kernels::kLineSlack];
    const kernels::Segment whole{0, 0, static_cast<int32_t>(count)};
    reader_.Fetch(offset, &whole, 1, step, count, line);
    narrow_(line, count, chunk);
    return chunk;
  }
  const uint16_t* from = base_ + offset;
  if (step == 1) return from;
  if (step == 2) {
    lines_.every_second16(from, 0, 1, count, chunk);
    return chunk;
  }
  for (int64_t i = 0; i < count; ++i) chunk[i] = from[i * step];
  return chunk;
}

}  // namespace canopy::conv
