// SPDX-License-Identifier: Apache-2.0
#include "conv/pointwise/weights_bias.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/elements.h"
#include "exec/pool.h"
#include "kernels/convert/forms.h"
#include "kernels/gather_gemm/contract.h"
#include "kernels/lines/contract.h"

namespace canopy::conv::pointwise {
namespace {

constexpr int64_t kChannelsAJob = 64;
constexpr int64_t kMostLanes = 256;  // more than any panel has

}  // namespace

std::string_view RefuseBias(const ConvProblem& problem, Computation bias) {
  const Geometry& g = problem.geometry;
  if (!problem.MultipliesPlain()) return "the bias gradient is not rounded";
  if (g.group_input_channels() == 0 || g.group_output_channels() == 0) return "there are no products";
  for (int axis = 0; axis < 3 && bias == kBiasFromInput; ++axis) {
    if (g.kernel[axis] != g.stride[axis] || g.input_size[axis] != g.output_size[axis] * g.stride[axis]) {
      return "weights do not meet all that the bias gradient sums";
    }
  }
  return "";
}

void AddRowSums(const float* from, int64_t stride, int64_t rows, const PieceSpan& span, int64_t image_stride,
                double* sums) {
  float partial[kernels::GatherTiles::kMostRows];
  kernels::Lines().sum_rows(from, stride, rows, span.pixels, image_stride, span.images, partial);
  for (int64_t r = 0; r < rows; ++r) sums[r] += partial[r];
}

void AddLaneSums(const float* panel, int64_t width, int64_t terms, int64_t lanes, double* sums) {
  float partial[kMostLanes];
  const int form = static_cast<int>(kernels::convert::FormRead(numerics::DType::kFloat32, {}));
  kernels::Lines().sum_columns[form](panel, width, terms, lanes, partial);
  for (int64_t l = 0; l < lanes; ++l) sums[l] += partial[l];
}

void StoreBiasSums(const ConvProblem& problem, const Buffers& buffers, int64_t segments, int64_t taps, bool serial,
                   const double* sums) {
  const bool transposed = (problem.computations & kBiasFromInput) != 0;
  const int64_t channels = transposed ? problem.geometry.input_channels : problem.geometry.output_channels;
  exec::ParallelFor(base::CeilDiv(channels, kChannelsAJob), serial, [&](int64_t job, int) {
    for (int64_t c = job * kChannelsAJob; c < std::min(channels, (job + 1) * kChannelsAJob); ++c) {
      double sum = 0;
      for (int64_t segment = 0; segment < segments; ++segment) {
        for (int64_t t = 0; t < taps; ++t) sum += sums[(segment * channels + c) * taps + t];
      }
      StoreBias(problem, buffers, c, static_cast<float>(sum));
    }
  });
}

}  // namespace canopy::conv::pointwise
