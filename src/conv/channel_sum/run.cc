// SPDX-License-Identifier: Apache-2.0
#include "conv/channel_sum/run.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/elements.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"
#include "kernels/lines/contract.h"
#include "numerics/rounding.h"

namespace canopy::conv::channel_sum {
namespace {

constexpr int64_t kRun = 512;       // elements that share FP32 accumulators
constexpr int64_t kBf16Run = 4096;  // likewise of BF16, in more accumulators
constexpr int64_t kPixels = 32;     // that are added up in FP32 where channels lie side by side
constexpr int64_t kShortRow = 256;  // elements of rows of which several channels' are added up at once
constexpr int64_t kRows = 16;       // as many
constexpr int64_t kChannels = 64;   // of a job
constexpr int64_t kJobsAThread = 4;
constexpr int64_t kMostAdjacent = 256, kLeastAdjacent = 32;  // channels of a job where they lie side by side

struct Source {
  LineReader reader;
  numerics::DType dtype;
  std::array<int64_t, 5> strides;
  int64_t batch, channels;
  Extent3 size;
};

Source SourceOf(const ConvProblem& p, Computation computation, const Buffers& b) {
  const Geometry& g = p.geometry;
  const bool from_output = computation == kBiasFromOutput;
  const Operand& operand = from_output ? p.output : p.input;
  return {LineReader(from_output ? b.output : b.input, operand.dtype, numerics::NumericRule{}),
          operand.dtype,
          operand.strides,
          g.batch,
          from_output ? g.output_channels : g.input_channels,
          from_output ? g.output_size : g.input_size};
}

double SumBf16Row(const Source& s, int64_t offset, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i += kBf16Run) sum += s.reader.Sum(offset + i, std::min(kBf16Run, count - i));
  return sum;
}

double SumRow(const Source& s, int64_t offset, int64_t count) {
  if (s.dtype == numerics::DType::kBFloat16 && s.strides[4] == 1) return SumBf16Row(s, offset, count);
  double sum = 0;
  float buffer[kRun];
  for (int64_t i = 0; i < count; i += kRun) {
    const int64_t run = std::min(kRun, count - i), from = offset + i * s.strides[4];
    const float* row = s.reader.Direct(from, s.strides[4]);
    if (row == nullptr) {
      row = buffer;
      if (s.strides[4] == 1) {
        s.reader.FetchRun(from, run, buffer);
      } else {
        s.reader.FetchGrid(from, 0, 1, s.strides[4], run, buffer);
      }
    }
    sum += kernels::Lines().sum(row, run);
  }
  return sum;
}

// Rows that follow one another in memory are one row.
Source MergeRows(Source s) {
  if (s.strides[3] == s.size[2] * s.strides[4]) {
    s.size = {s.size[0], 1, s.size[1] * s.size[2]};
    if (s.strides[2] == s.size[2] * s.strides[4]) s.size = {1, 1, s.size[0] * s.size[2]};
  }
  return s;
}

// Of images [begin, end).
template <class F>
void ForEachRow(const Source& s, int64_t begin, int64_t end, const F& visit) {
  for (int64_t n = begin; n < end; ++n) {
    for (int64_t d = 0; d < s.size[0]; ++d) {
      for (int64_t h = 0; h < s.size[1]; ++h) visit(n * s.strides[0] + d * s.strides[2] + h * s.strides[3]);
    }
  }
}

// In the order of memory as far as it goes.
void SumChannels(const Source& s, int64_t first, int64_t count, double* sums) {
  std::fill(sums, sums + count, 0.0);
  ForEachRow(s, 0, s.batch, [&](int64_t offset) {
    for (int64_t c = 0; c < count; ++c) sums[c] += SumRow(s, offset + (first + c) * s.strides[1], s.size[2]);
  });
}

// The same where rows are short: those of many channels at once, and of as many images as fill a run.
void SumShortRows(const Source& s, int64_t first, int64_t count, double* sums) {
  const int64_t length = s.size[2], step = s.strides[1];
  const bool direct = s.reader.Direct(0, 1) != nullptr;
  const int64_t together = direct ? kRun / std::max<int64_t>(16, base::RoundUp(length, 16)) : 1;  // images
  float converted[kRows * kShortRow], partial[kRows];
  std::fill(sums, sums + count, 0.0);
  for (int64_t n = 0; n < s.batch; n += together) {
    const int64_t images = std::min(together, s.batch - n);
    ForEachRow(s, n, n + 1, [&](int64_t offset) {
      for (int64_t c = 0; c < count; c += kRows) {
        const int64_t rows = std::min(kRows, count - c), at = offset + (first + c) * step;
        if (!direct) s.reader.CopyRows(at, step, rows, length, converted, length);
        kernels::Lines().sum_rows(direct ? s.reader.Direct(at, 1) : converted, direct ? step : length, rows, length,
                                  s.strides[0], images, partial);
        for (int64_t r = 0; r < rows; ++r) sums[c + r] += partial[r];
      }
    });
  }
}

// Channels side by side: vectors of them.
void SumAdjacentChannels(const Source& s, int64_t first, int64_t count, double* sums) {
  float partial[kMostAdjacent];
  std::fill(sums, sums + count, 0.0);
  ForEachRow(s, 0, s.batch, [&](int64_t offset) {
    for (int64_t w = 0; w < s.size[2]; w += kPixels) {
      const int64_t step = s.strides[4];
      s.reader.SumColumns(offset + first + w * step, step, std::min(kPixels, s.size[2] - w), count, partial);
      for (int64_t c = 0; c < count; ++c) sums[c] += partial[c];
    }
  });
}

// Of a job. Long stretches of memory are read faster: twice as fast as single planes of 12 KiB from beyond the caches.
int64_t ChannelsOfRows(int64_t channels) {
  const int64_t jobs = exec::ThreadCount() == 1 ? 1 : kJobsAThread * exec::ThreadCount();
  return std::clamp(base::RoundUp(channels / jobs, kRows), kRows, kChannels);
}

// As many as give every thread some.
int64_t AdjacentChannels(int64_t channels) {
  return std::clamp(base::RoundUp(base::CeilDiv(channels, exec::ThreadCount()), 16), kLeastAdjacent, kMostAdjacent);
}

}  // namespace

void RunChannelSum(const ConvProblem& problem, Computation computation, const Buffers& buffers, bool serial) noexcept {
  const Source source = MergeRows(SourceOf(problem, computation, buffers));
  const auto store = [&](int64_t channel, double sum) {
    StoreBias(problem, buffers, channel, static_cast<float>(sum));
  };
  const bool adjacent = source.strides[1] == 1 && (source.strides[4] != 1 || source.size[2] == 1);
  const bool is_short = source.strides[4] == 1 && source.size[2] <= kShortRow;
  // A channel's sum is the same in any block.
  const int64_t channels = adjacent ? AdjacentChannels(source.channels) : ChannelsOfRows(source.channels);
  exec::ParallelFor(base::CeilDiv(source.channels, channels), serial, [&](int64_t block, int) {
    const int64_t first = block * channels, count = std::min(channels, source.channels - first);
    double sums[kMostAdjacent];
    (adjacent ? SumAdjacentChannels : is_short ? SumShortRows : SumChannels)(source, first, count, sums);
    for (int64_t c = 0; c < count; ++c) store(first + c, sums[c]);
  });
}

}  // namespace canopy::conv::channel_sum
