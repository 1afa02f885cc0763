// SPDX-License-Identifier: Apache-2.0
#include "conv/split_gemm/data_results.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/elements.h"
#include "conv/split_gemm/pack.h"
#include "kernels/lines/contract.h"
#include "kernels/streams.h"

namespace canopy::conv::split_gemm {
namespace {

using kernels::kSplitSide;

// Results of rows `row` floats from one another, each of `width` that are `step` floats apart, and zeros in between.
struct Apart {
  int64_t width, step, row;

  // From a plane's first one to the one of a pixel.
  int64_t Offset(int64_t pixel) const { return pixel / width * row + pixel % width * step; }
  // Those of `count` pixels from one on, and the zeros up to the next one's.
  void Spread(const float* from, int64_t pixel, int64_t count, float* to) const {
    for (int64_t done = 0, some; done < count; done += some) {
      const int64_t column = (pixel + done) % width, left = count - done;
      const int64_t rows = column == 0 && left >= width ? left / width : 1;
      some = rows > 1 ? rows * width : std::min(width - column, left);
      const int64_t length = (Offset(pixel + done + some) - Offset(pixel + done)) / rows;
      kernels::Lines().spread(from + done, {1, 0, some / rows, step, rows, length, length, 0}, false, to);
      to += rows * length;
    }
  }
};

void AddBias(float bias, int64_t count, float* line) {
  for (int64_t i = 0; i < count; ++i) line[i] += bias;
}

}  // namespace

void DataResults::Store(const DataStep::Comb& comb, const JobResults& where, const JobScratch& scratch) const {
  const auto& strides = product_.result.strides;
  const int64_t phases = static_cast<int64_t>(comb.phases.size());
  for (int64_t i = 0; i < where.channels; ++i) {
    float* line = scratch.results + i * s_.scratch_.results_step();
    for (int64_t phase = 0; phase < phases; ++phase, line += s_.scratch_.results()) {
      losses_->AddResults(line, where.pixels);
      if (p_.has_bias) AddBias(LoadBias(p_, b_, where.first_channel + i), where.pixels, line);
    }
  }
  if (comb.rows_below > 0) return StoreApart(comb, where, scratch);
  if (ChannelLines(product_.result, strides[4])) return StoreChannelLines(comb, where, scratch);
  const int64_t stretches = BuildStretches(comb, where, scratch.segments);
  float* const direct = phases == 1 ? result_.Direct(where.first_channel * strides[1], strides[4]) : nullptr;
  if (direct != nullptr) return CopyRows(where.channels, stretches, scratch, direct);
  for (int64_t i = 0; i < where.channels; ++i) {
    const float* line = scratch.results + i * s_.scratch_.results_step();
    for (int64_t s = 0; s < stretches; ++s) {
      const kernels::Segment& to = scratch.segments[s];
      result_.StorePhases((where.first_channel + i) * strides[1] + to.source, strides[4], line + to.begin,
                          s_.scratch_.results(), phases, 0, to.count, scratch.lines);
    }
  }
}

// A job's pixels of an image are one stretch of memory.
void DataResults::StoreApart(const DataStep::Comb& comb, const JobResults& where, const JobScratch& scratch) const {
  const auto& strides = product_.result.strides;
  const Apart apart{comb.walk[2], s_.result_step_[2], (1 + comb.rows_below) * strides[3]};
  const int64_t plane = comb.walk[1] * comb.walk[2];
  for (int64_t done = 0, count; done < where.pixels; done += count) {
    const int64_t at = where.first_pixel + done, pixel = at % plane;
    count = std::min(plane - pixel, where.pixels - done);
    const int64_t offset = RowOffset(comb, at / plane * comb.walk[1]) + apart.Offset(pixel);
    const int64_t length = apart.Offset(pixel + count) - apart.Offset(pixel);
    for (int64_t i = 0; i < where.channels; ++i) {
      const int64_t first = (where.first_channel + i) * strides[1] + offset;
      float* const direct = result_.Direct(first, 1);
      const bool streamed = direct != nullptr && Streams(s_.streamed_, direct, length, 0);
      const float* from = scratch.results + i * s_.scratch_.results_step() + done;
      apart.Spread(from, pixel, count, direct == nullptr || streamed ? scratch.lines : direct);
      if (streamed) kernels::Lines().stream_rows(scratch.lines, 0, 1, length, direct, 0);
      const kernels::Segment line{0, 0, static_cast<int32_t>(length)};
      if (direct == nullptr) result_.Store(first, &line, 1, 1, scratch.lines);
    }
  }
  if (s_.streamed_ != StreamedRows::kNone) kernels::FinishStreams();
}

// FP32 results side by side, as they are.
void DataResults::CopyRows(int64_t channels, int64_t stretches, const JobScratch& scratch, float* direct) const {
  const int64_t step = s_.scratch_.results_step(), stride = product_.result.strides[1];
  bool streamed = false;
  for (int64_t s = 0; s < stretches; ++s) {
    const kernels::Segment& in = scratch.segments[s];
    const float* from = scratch.results + in.begin;
    float* to = direct + in.source;
    if (Streams(s_.streamed_, to, in.count, stride)) {
      kernels::Lines().stream_rows(from, step, channels, in.count, to, stride);
      streamed = true;
    } else {
      kernels::Lines().copy_rows(from, step, channels, in.count, to, stride);
    }
  }
  if (streamed) kernels::FinishStreams();
}

void DataResults::Fill(const DataStep::Comb& comb, const JobResults& where, const JobScratch& scratch) const {
  const auto& strides = product_.result.strides;
  const int64_t stretches = BuildStretches(comb, where, scratch.segments);
  const int64_t most = where.pixels * static_cast<int64_t>(comb.phases.size());
  for (int64_t channel = where.first_channel; channel < where.first_channel + where.channels; ++channel) {
    std::fill(scratch.lines, scratch.lines + most, p_.has_bias ? LoadBias(p_, b_, channel) : 0);
    for (int64_t s = 0; s < stretches; ++s) {
      const kernels::Segment line{0, 0, scratch.segments[s].count};
      result_.Store(channel * strides[1] + scratch.segments[s].source, &line, 1, strides[4], scratch.lines);
    }
  }
}

// Where results of all phases of some pixels are, from a channel's first one: `begin` is the first pixel, and `count`
// says how many results there are, beside one another. Returns how many stretches were made.
int64_t DataResults::BuildStretches(const DataStep::Comb& comb, const JobResults& where,
                                    kernels::Segment* stretches) const {
  const auto& strides = product_.result.strides;
  const Extent3 &walk = comb.walk, &size = product_.result_size;
  const int64_t phases = static_cast<int64_t>(comb.phases.size());
  // Rows that follow one another are one.
  const bool plane = phases == 1 && walk[1] == size[1] && strides[3] == walk[2] * strides[4];
  const int64_t row_pixels = plane ? walk[1] * walk[2] : walk[2], row_results = plane ? row_pixels : size[2];
  int64_t made = 0;
  for (int64_t done = 0; done < where.pixels;) {
    const int64_t at = where.first_pixel + done, in_row = at % row_pixels, row = at / row_pixels;
    const int64_t count = std::min(row_pixels - in_row, where.pixels - done);
    stretches[made++] = {RowOffset(comb, plane ? row * walk[1] : row) + in_row * phases * strides[4],
                         static_cast<int32_t>(done),
                         static_cast<int32_t>(std::min(count * phases, row_results - in_row * phases))};
    done += count;
  }
  return made;
}

// The first result of a comb's row, counted through all images, from a channel's first one.
int64_t DataResults::RowOffset(const DataStep::Comb& comb, int64_t row) const {
  const auto& strides = product_.result.strides;
  const int64_t image = row / comb.walk[1];
  return image / comb.walk[0] * strides[0] + (comb.first[0] + image % comb.walk[0] * s_.result_step_[0]) * strides[2] +
         (comb.first[1] + row % comb.walk[1] * s_.result_step_[1]) * strides[3];
}

// Channels lie side by side, and pixels do not.
void DataResults::StoreChannelLines(const DataStep::Comb& comb, const JobResults& where,
                                    const JobScratch& scratch) const {
  const int64_t channels = where.channels;
  const kernels::Segment line{0, 0, static_cast<int32_t>(channels)};
  int64_t lines[kSplitSide];
  for (int64_t i = 0; i < kSplitSide; ++i) lines[i] = i * channels;
  for (int64_t phase = 0; phase < static_cast<int64_t>(comb.phases.size()); ++phase) {
    const float* results = scratch.results + phase * s_.scratch_.results();
    for (int64_t done = 0; done < where.pixels; done += kSplitSide) {
      const int64_t count = std::min<int64_t>(kSplitSide, where.pixels - done);
      kernels::Lines().transpose(results + done, s_.scratch_.results_step(), channels, count, scratch.rows, lines);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = where.first_pixel + done + i, w = at % comb.walk[2] * s_.result_step_[2] + phase;
        if (w >= product_.result_size[2]) continue;
        result_.Store(where.first_channel + RowOffset(comb, at / comb.walk[2]) + w * product_.result.strides[4], &line,
                      1, 1, scratch.rows + lines[i]);
      }
    }
  }
}

}  // namespace canopy::conv::split_gemm
