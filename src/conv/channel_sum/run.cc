// SPDX-License-Identifier: Apache-2.0
#include "conv/channel_sum/run.h"

#include <algorithm>

#include "base/checked_math.h"
#include "exec/pool.h"
#include "kernels/convert/contract.h"
#include "numerics/rounding.h"

namespace canopy::conv::channel_sum {
namespace {

constexpr int64_t kRun = 512;  // elements that share FP32 accumulators
constexpr int kPartials = 16;
constexpr int64_t kChannels = 16;  // of a job, where channels lie side by side

struct Source {
  const char* base;
  numerics::DType dtype;
  std::array<int64_t, 5> strides;
  int64_t batch, channels;
  Extent3 size;
  kernels::convert::LoadRowFn load_row;

  float Load(int64_t element) const {
    return numerics::LoadElement(base + element * numerics::ElementBytes(dtype), dtype);
  }
};

Source SourceOf(const ConvProblem& p, Computation computation, const Buffers& b) {
  const Geometry& g = p.geometry;
  const bool from_output = computation == kBiasFromOutput;
  const Operand& operand = from_output ? p.output : p.input;
  return {static_cast<const char*>(from_output ? b.output : b.input),
          operand.dtype,
          operand.strides,
          g.batch,
          from_output ? g.output_channels : g.input_channels,
          from_output ? g.output_size : g.input_size,
          kernels::convert::SelectLoadRow(operand.dtype, numerics::NumericRule{})};
}

float SumFloats(const float* row, int64_t count) {
  float partial[kPartials] = {};
  int64_t i = 0;
  for (; i + kPartials <= count; i += kPartials) {
    for (int j = 0; j < kPartials; ++j) partial[j] += row[i + j];
  }
  for (int j = 0; i + j < count; ++j) partial[j] += row[i + j];
  for (int half = kPartials / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) partial[j] += partial[j + half];
  }
  return partial[0];
}

double SumRow(const Source& s, int64_t offset, int64_t count) {
  double sum = 0;
  float buffer[kRun];
  for (int64_t i = 0; i < count; i += kRun) {
    const int64_t run = std::min(kRun, count - i);
    if (s.dtype == numerics::DType::kFloat32 && s.strides[4] == 1) {
      sum += SumFloats(reinterpret_cast<const float*>(s.base) + offset + i, run);
      continue;
    }
    if (s.strides[4] == 1) {
      s.load_row(s.base + (offset + i) * numerics::ElementBytes(s.dtype), run, buffer);
    } else {
      for (int64_t j = 0; j < run; ++j) buffer[j] = s.Load(offset + (i + j) * s.strides[4]);
    }
    sum += SumFloats(buffer, run);
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

template <class F>
void ForEachRow(const Source& s, const F& visit) {
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t d = 0; d < s.size[0]; ++d) {
      for (int64_t h = 0; h < s.size[1]; ++h) visit(n * s.strides[0] + d * s.strides[2] + h * s.strides[3]);
    }
  }
}

void SumChannel(const Source& s, int64_t channel, double* sum) {
  *sum = 0;
  ForEachRow(s, [&](int64_t offset) { *sum += SumRow(s, offset + channel * s.strides[1], s.size[2]); });
}

// Channels side by side: a block of them is summed in one walk.
void SumChannelBlock(const Source& s, int64_t first, int64_t count, double* sums) {
  float partial[kChannels] = {}, row[kChannels];
  int64_t in_partial = 0;
  std::fill(sums, sums + count, 0.0);
  const auto flush = [&] {
    for (int64_t c = 0; c < count; ++c) {
      sums[c] += partial[c];
      partial[c] = 0;
    }
    in_partial = 0;
  };
  ForEachRow(s, [&](int64_t offset) {
    for (int64_t w = 0; w < s.size[2]; ++w) {
      s.load_row(s.base + (offset + w * s.strides[4] + first) * numerics::ElementBytes(s.dtype), count, row);
      for (int64_t c = 0; c < count; ++c) partial[c] += row[c];
      if (++in_partial == kRun / kPartials) flush();
    }
  });
  flush();
}

}  // namespace

void RunChannelSum(const ConvProblem& problem, Computation computation, const Buffers& buffers, bool serial) noexcept {
  const Source source = MergeRows(SourceOf(problem, computation, buffers));
  const Operand& result = problem.bias_result;
  const auto store = [&](int64_t channel, double sum) {
    char* to =
        static_cast<char*>(buffers.bias_result) + channel * result.strides[1] * numerics::ElementBytes(result.dtype);
    numerics::StoreElement(to, result.dtype, static_cast<float>(sum), problem.rule.saturate);
  };
  if (source.strides[1] == 1 && source.strides[4] != 1) {
    exec::ParallelFor(base::CeilDiv(source.channels, kChannels), serial, [&](int64_t block, int) {
      const int64_t first = block * kChannels, count = std::min(kChannels, source.channels - first);
      double sums[kChannels];
      SumChannelBlock(source, first, count, sums);
      for (int64_t c = 0; c < count; ++c) store(first + c, sums[c]);
    });
    return;
  }
  exec::ParallelFor(source.channels, serial, [&](int64_t channel, int) {
    double sum;
    SumChannel(source, channel, &sum);
    store(channel, sum);
  });
}

}  // namespace canopy::conv::channel_sum
