// SPDX-License-Identifier: Apache-2.0
#include "conv/tensor_lines.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/checked_math.h"

namespace canopy::conv {
namespace {

constexpr int64_t kChunk = 256;  // elements collected before they are converted together

template <int kCount>
void CopyFloats(const float* from, float* to) {
  std::memcpy(to, from, kCount * sizeof(float));
}

void MakeFinite(float* line, int64_t count) {
  for (int64_t i = 0; i < count; ++i) line[i] = std::isfinite(line[i]) ? line[i] : std::copysign(1.0f, line[i]);
}

template <class T>
void Gather(const T* from, int64_t count, int64_t step, T* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
}

template <class T>
void GatherAndConvert(const char* from, int64_t count, int64_t step, kernels::convert::LoadRowFn convert, float* to) {
  T chunk[kChunk];
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t run = std::min(kChunk, count - i);
    Gather(reinterpret_cast<const T*>(from) + i * step, run, step, chunk);
    convert(chunk, run, to + i);
  }
}

// Rows of elements of 2 bytes, every second of them: picked out for several short rows before they are converted.
void GatherSecondsAndConvert(const char* from, int64_t row_step, int64_t rows, int64_t count,
                             kernels::convert::LoadRowFn convert, float* to) {
  uint16_t chunk[kChunk];
  const int64_t run = std::min(kChunk, count), rows_at_once = run < count ? 1 : kChunk / std::max<int64_t>(1, run);
  for (int64_t r = 0; r < rows; r += rows_at_once) {
    const uint16_t* row = reinterpret_cast<const uint16_t*>(from) + r * row_step;
    const int64_t together = std::min(rows_at_once, rows - r);
    for (int64_t i = 0; i < count; i += run) {
      const int64_t picked = std::min(run, count - i);
      kernels::Lines().every_second16(row + 2 * i, row_step, together, picked, chunk);
      convert(chunk, together * picked, to + r * count + i);
    }
  }
}

template <class T>
void Scatter(const T* from, int64_t count, int64_t step, T* to) {
  for (int64_t i = 0; i < count; ++i) to[i * step] = from[i];
}

template <class T>
void ConvertAndScatter(const float* from, int64_t count, int64_t step, kernels::convert::StoreRowFn convert, char* to) {
  T chunk[kChunk];
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t run = std::min(kChunk, count - i);
    convert(from + i, run, chunk);
    Scatter(chunk, run, step, reinterpret_cast<T*>(to) + i * step);
  }
}

}  // namespace

void LineReader::Fetch(int64_t offset, const kernels::Segment* segments, int64_t segment_count, int64_t step,
                       int64_t length, float* line) const {
  FetchSegments(offset, segments, segment_count, step, length, line);
  if (finite_only_) MakeFinite(line, length);
}

void LineReader::FetchSegments(int64_t offset, const kernels::Segment* segments, int64_t segment_count, int64_t step,
                               int64_t length, float* line) const {
  if (plain_ && step == 1) {
    kernels::Lines().fetch(reinterpret_cast<const float*>(base_) + offset, segments, segment_count, length, line);
    return;
  }
  const int64_t bytes = numerics::ElementBytes(dtype_);
  std::memset(line, 0, static_cast<size_t>(length) * sizeof(float));
  for (int64_t s = 0; s < segment_count; ++s) {
    const kernels::Segment& segment = segments[s];
    const char* from = base_ + (offset + segment.source) * bytes;
    float* to = line + segment.begin;
    if (step == 1) {
      load_row_(from, segment.count, to);
      continue;
    }
    FetchStrided(from, segment.count, step, to);
  }
}

void LineReader::FetchRun(int64_t offset, int64_t count, float* to) const {
  if (!plain_ || finite_only_) {
    load_row_(base_ + offset * numerics::ElementBytes(dtype_), count, to);
    if (finite_only_) MakeFinite(to, count);
    return;
  }
  // Panels' widths, as constants: a call of memcpy costs more than the copy.
  const float* from = reinterpret_cast<const float*>(base_) + offset;
  switch (count) {
    case 4:
      return CopyFloats<4>(from, to);
    case 8:
      return CopyFloats<8>(from, to);
    case 12:
      return CopyFloats<12>(from, to);
    case 32:
      return CopyFloats<32>(from, to);
    case 48:
      return CopyFloats<48>(from, to);
    default:
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  }
}

void LineReader::CopyRows(int64_t offset, int64_t step, int64_t rows, int64_t count, float* to, int64_t to_step) const {
  if (form_ != kernels::convert::Form::kOther) {
    kernels::Lines().copy_rows_form[static_cast<int>(form_)](Address(offset), step, rows, count, to, to_step);
    return;
  }
  for (int64_t r = 0; r < rows; ++r) FetchRun(offset + r * step, count, to + r * to_step);
}

void LineReader::FetchGrid(int64_t offset, int64_t row_step, int64_t rows, int64_t step, int64_t count,
                           float* to) const {
  if (dtype_ == numerics::DType::kFloat32 && step == 2) {
    kernels::Lines().every_second(reinterpret_cast<const float*>(base_) + offset, row_step, rows, count, to);
    if (!plain_) load_row_(to, rows * count, to);
  } else if (numerics::ElementBytes(dtype_) == 2 && step == 2) {
    GatherSecondsAndConvert(base_ + offset * 2, row_step, rows, count, load_row_, to);
  } else {
    const int64_t bytes = numerics::ElementBytes(dtype_);
    for (int64_t r = 0; r < rows; ++r)
      FetchStrided(base_ + (offset + r * row_step) * bytes, count, step, to + r * count);
  }
  if (finite_only_) MakeFinite(to, rows * count);
}

void LineReader::FetchGridPair(int64_t offset, int64_t row_step, int64_t rows, int64_t count, float* even,
                               float* odd) const {
  if (dtype_ != numerics::DType::kFloat32 || !plain_ || finite_only_) {
    FetchGrid(offset, row_step, rows, 2, count, even);
    FetchGrid(offset + 1, row_step, rows, 2, count, odd);
    return;
  }
  kernels::Lines().split_seconds(reinterpret_cast<const float*>(base_) + offset, row_step, rows, count, even, odd);
}

void LineReader::FetchStrided(const char* from, int64_t count, int64_t step, float* to) const {
  switch (numerics::ElementBytes(dtype_)) {
    case 4:
      if (step == 2) {
        kernels::Lines().every_second(reinterpret_cast<const float*>(from), 0, 1, count, to);
      } else {
        Gather(reinterpret_cast<const float*>(from), count, step, to);
      }
      if (!plain_) load_row_(to, count, to);
      return;
    case 2:
      if (step == 2) return GatherSecondsAndConvert(from, 0, 1, count, load_row_, to);
      return GatherAndConvert<uint16_t>(from, count, step, load_row_, to);
    default:
      return GatherAndConvert<uint8_t>(from, count, step, load_row_, to);
  }
}

void LineWriter::Store(int64_t offset, const kernels::Segment* segments, int64_t segment_count, int64_t step,
                       const float* line) const {
  const int64_t bytes = numerics::ElementBytes(dtype_);
  for (int64_t s = 0; s < segment_count; ++s) {
    const kernels::Segment& segment = segments[s];
    char* to = base_ + (offset + segment.source) * bytes;
    const float* from = line + segment.begin;
    if (step == 1) {
      store_row_(from, segment.count, to);
      continue;
    }
    switch (bytes) {
      case 4:
        ConvertAndScatter<float>(from, segment.count, step, store_row_, to);
        break;
      case 2:
        ConvertAndScatter<uint16_t>(from, segment.count, step, store_row_, to);
        break;
      default:
        ConvertAndScatter<uint8_t>(from, segment.count, step, store_row_, to);
    }
  }
}

void LineWriter::StorePhases(int64_t offset, int64_t step, const float* lines, int64_t apart, int64_t phases,
                             int64_t first, int64_t count, float* line) const {
  const kernels::Segment whole{0, 0, static_cast<int32_t>(count)};
  if (phases == 1) return Store(offset, &whole, 1, step, lines + first);
  const int64_t skipped = first % phases;
  lines += first / phases;
  float* direct = Direct(offset, step);
  if (direct != nullptr && count % phases == 0 && (skipped == 0 || phases == 2)) {
    // Of two phases the second comes first then, one behind which the other is.
    kernels::Lines().interleave(lines + skipped * apart, skipped == 0 ? apart : 1 - apart, phases, count / phases,
                                direct);
    return;
  }
  kernels::Lines().interleave(lines, apart, phases, base::CeilDiv(skipped + count, phases), line);
  Store(offset, &whole, 1, step, line + skipped);
}

void LineWriter::StoreSeconds(int64_t offset, const float* line, int64_t count, int64_t length) const {
  uint16_t* to = reinterpret_cast<uint16_t*>(base_) + offset;
  uint16_t chunk[kChunk];
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t run = std::min(kChunk, count - i), pairs = std::min(run, length / 2 - i);
    store_row_(line + i, run, chunk);
    // An element and the 0 behind it are a pair; behind the last there may be none.
    kernels::Lines().zip(chunk, nullptr, pairs, reinterpret_cast<float*>(to + 2 * i));
    if (pairs < run) to[2 * (i + pairs)] = chunk[pairs];
  }
  std::fill(to + std::min(2 * count, length), to + length, uint16_t{0});
}

}  // namespace canopy::conv
