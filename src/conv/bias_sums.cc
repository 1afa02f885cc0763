// SPDX-License-Identifier: Apache-2.0
#include "conv/bias_sums.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/elements.h"
#include "exec/pool.h"
#include "kernels/convert/forms.h"
#include "kernels/lines/contract.h"

namespace canopy::conv {
namespace {

constexpr int64_t kChannelsAJob = 64;
constexpr int64_t kRows = 16;        // of a call
constexpr int64_t kRun = 512;        // numbers of a row of an image that share FP32 accumulators
constexpr int64_t kMostLanes = 256;  // more than any panel has

}  // namespace

std::string_view RefuseBiasSums(const Geometry& g, Computation bias) {
  if (g.group_input_channels() == 0 || g.group_output_channels() == 0) return "there are no products";
  for (int axis = 0; axis < 3 && bias == kBiasFromInput; ++axis) {
    const bool dilated = g.kernel[axis] > 1 && g.dilation[axis] > 1;
    if (g.kernel[axis] != g.stride[axis] || g.pad_begin[axis] != 0 || dilated ||
        g.input_size[axis] != g.output_size[axis] * g.stride[axis]) {
      return "weights do not meet all that the bias gradient sums";
    }
  }
  return "";
}

void AddRowSums(const ChannelRows& all, double* sums) {
  float partial[kRows];
  for (int64_t row = 0; row < all.rows; row += kRows) {
    const int64_t rows = std::min(kRows, all.rows - row);
    const float* from = all.from + row * all.stride;
    for (int64_t first = 0; first < all.count; first += kRun) {
      const int64_t count = std::min(kRun, all.count - first);
      kernels::Lines().sum_rows(from + first, all.stride, rows, count, all.image_stride, all.images, partial);
      for (int64_t r = 0; r < rows; ++r) sums[row + r] += partial[r];
    }
  }
}

void AddLaneSums(const float* panel, int64_t width, int64_t terms, int64_t lanes, double* sums) {
  float partial[kMostLanes];
  const int form = static_cast<int>(kernels::convert::FormRead(numerics::DType::kFloat32, {}));
  kernels::Lines().sum_columns[form](panel, width, terms, lanes, partial);
  for (int64_t l = 0; l < lanes; ++l) sums[l] += partial[l];
}

void StoreBiasSums(const ConvProblem& problem, const Buffers& buffers, int64_t slots, int64_t taps, bool serial,
                   const double* sums) {
  const bool transposed = (problem.computations & kBiasFromInput) != 0;
  const int64_t channels = transposed ? problem.geometry.input_channels : problem.geometry.output_channels;
  exec::ParallelFor(base::CeilDiv(channels, kChannelsAJob), serial, [&](int64_t job, int) {
    for (int64_t c = job * kChannelsAJob; c < std::min(channels, (job + 1) * kChannelsAJob); ++c) {
      double sum = 0;
      for (int64_t slot = 0; slot < slots; ++slot) {
        for (int64_t t = 0; t < taps; ++t) sum += sums[(slot * channels + c) * taps + t];
      }
      StoreBias(problem, buffers, c, static_cast<float>(sum));
    }
  });
}

}  // namespace canopy::conv
