// SPDX-License-Identifier: Apache-2.0
#include "conv/sheets/sheet.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/sheets/accepts.h"
#include "kernels/planes/contract.h"

namespace canopy::conv::sheets {

using kernels::convert::Form;

namespace {

constexpr int64_t kLine = 2048;         // floats converted together
constexpr int64_t kMostImages = 16;     // of a sheet
constexpr int64_t kSheetFloats = 6144;  // half of a first-level cache of 48 KiB
constexpr double kWorthFolding = 1.15;

// Rows of a part that are converted together.
int64_t RowsAtOnce(const PlanePart& part) { return std::max<int64_t>(1, kLine / std::max<int64_t>(1, part.columns)); }

kernels::Segment Whole(int64_t count) { return {0, 0, static_cast<int32_t>(count)}; }

// Whether a channel's taps are at equal distances, row by row.
bool IsDense(const Geometry& g, const Operand& weight) {
  const auto& strides = weight.strides;
  return (g.kernel[1] == 1 || strides[3] == g.kernel[2] * strides[4]) &&
         (g.kernel[0] == 1 || strides[2] == g.kernel[1] * g.kernel[2] * strides[4]);
}

}  // namespace

Fold ChooseFold(int64_t batch, int64_t columns, int64_t image_pitch, int64_t rows, int64_t lanes) {
  Fold best{1, image_pitch};
  double best_use = 0;
  for (int64_t images = 1; images <= std::min(batch, kMostImages); ++images) {
    const Fold fold{images, image_pitch};
    const int64_t vectors = base::CeilDiv(fold.Width(columns), lanes);
    if (images > 1 && rows * vectors * lanes > kSheetFloats) break;
    const double use = static_cast<double>(base::CeilDiv(batch, images) * images == batch ? images : images - 1) *
                       static_cast<double>(columns) / static_cast<double>(vectors * lanes);
    if (use < kWorthFolding * best_use) continue;
    best = fold;
    best_use = use;
  }
  return best;
}

int64_t RowPitch(int64_t floats, int64_t lanes) {
  const int64_t pitch = base::RoundUp(floats, lanes);
  return pitch % 256 == 0 ? pitch + lanes : pitch;
}

int64_t LineFloats(int64_t columns) { return std::max(columns, kLine) + kernels::kLineSlack; }

void FetchWeights(const LineReader& weight, const ConvProblem& problem, int64_t first, int64_t channels, float* to) {
  const Geometry& g = problem.geometry;
  const auto& strides = problem.weight.strides;
  if (strides[4] == 1 && IsDense(g, problem.weight) && strides[0] == g.taps()) {
    return weight.FetchRun(first * strides[0], channels * g.taps(), to);
  }
  const kernels::Segment whole = Whole(g.kernel[2]);
  const int64_t height = g.kernel[1], rows = g.kernel[0] * height;
  for (int64_t i = first * rows; i < (first + channels) * rows; ++i, to += g.kernel[2]) {
    const int64_t row = i / rows * strides[0] + i % rows / height * strides[2] + i % height * strides[3];
    float line[kMostKernelExtent + kernels::kLineSlack];
    weight.Fetch(row, &whole, 1, strides[4], g.kernel[2], line);
    std::copy(line, line + g.kernel[2], to);
  }
}

void StoreWeights(const LineWriter& weight_result, const ConvProblem& problem, int64_t first, int64_t channels,
                  const float* sums) {
  const Geometry& g = problem.geometry;
  const auto& strides = problem.weight_result.strides;
  // Rows, and channels, that follow one another are one run.
  const int64_t taps = g.taps(), count = channels * taps;
  const bool dense = IsDense(g, problem.weight_result), all = dense && strides[0] == taps * strides[4];
  const int64_t run = all ? count : dense ? taps : g.kernel[2];
  const kernels::Segment whole = Whole(run);
  for (int64_t at = 0; at < count; at += run) {
    const int64_t row = at % taps / g.kernel[2], height = g.kernel[1];
    weight_result.Store((first + at / taps) * strides[0] + row / height * strides[2] + row % height * strides[3],
                        &whole, 1, strides[4], sums + at);
  }
}

bool FetchFiniteWeights(const ConvProblem& problem, LineReader* weight, float* to) {
  const Geometry& g = problem.geometry;
  FetchWeights(*weight, problem, 0, g.groups, to);
  if (!kernels::Lines().any_nonfinite(to, g.groups * g.taps())) return false;
  weight->TakeFiniteOnly();
  FetchWeights(*weight, problem, 0, g.groups, to);
  return true;
}

void StoreBiases(const ConvProblem& problem, const Buffers& buffers, int64_t first, int64_t channels,
                 const float* sums) {
  const Operand& result = problem.bias_result;
  const kernels::Segment whole = Whole(channels);
  LineWriter(buffers.bias_result, result.dtype, problem.rule.saturate)
      .Store(first * result.strides[1], &whole, 1, result.strides[1], sums);
}

void PlaneReader::Load(int64_t plane, const PlanePart& part, int64_t to_row, float* line, float* to, float* odd) const {
  const kernels::PlaneKernels& kernels = kernels::Planes();
  const int64_t first = plane + part.first_row * strides_[3] + part.first_column * strides_[4];
  const int64_t row = part.row_step * strides_[3];
  const auto move = [&](Form form, const void* from, int64_t from_row, int64_t at, int64_t rows) {
    const kernels::PlaneRows moved{from, from_row, to + at * to_row, to_row, rows, part.columns};
    const int i = static_cast<int>(form);
    odd == nullptr ? kernels.place[i](moved) : kernels.split[i](moved, odd + at * to_row);
  };
  if (form_ != Form::kOther && strides_[4] == 1) return move(form_, reader_.Address(first), row, 0, part.rows);
  const int64_t most = RowsAtOnce(part);
  for (int64_t r = 0; r < part.rows; r += most) {
    const int64_t rows = std::min(most, part.rows - r);
    if (row == part.columns) {
      reader_.FetchRun(first + r * row, rows * part.columns, line);
    } else {
      for (int64_t i = 0; i < rows; ++i) {
        reader_.FetchRun(first + (r + i) * row, part.columns, line + i * part.columns);
      }
    }
    move(Form::kFloat32, line, part.columns, r, rows);
  }
}

void PlaneReader::Prefetch(int64_t plane, const PlanePart& part) const {
  const int64_t row = part.row_step * strides_[3], first = plane + part.first_row * strides_[3];
  if (row == part.columns) return reader_.Prefetch(first, part.rows * part.columns);
  for (int64_t r = 0; r < part.rows; ++r) reader_.Prefetch(first + r * row, part.columns);
}

void PlaneWriter::Store(const float* from, const float* odd, int64_t from_row, const PlanePart& part, float* line,
                        int64_t plane) const {
  const kernels::PlaneKernels& kernels = kernels::Planes();
  const int64_t first = plane + part.first_row * strides_[3] + part.first_column * strides_[4];
  const int64_t row = part.row_step * strides_[3];
  const auto move = [&](Form form, int64_t at, int64_t rows, void* to, int64_t to_row) {
    const kernels::PlaneRows moved{from + at * from_row, from_row, to, to_row, rows, part.columns};
    const int i = static_cast<int>(form);
    odd == nullptr ? kernels.take[i](moved) : kernels.mesh[i](moved, odd + at * from_row);
  };
  if (form_ != Form::kOther && strides_[4] == 1) {
    return move(form_, 0, part.rows, base_ + first * element_bytes_, row);
  }
  const int64_t most = RowsAtOnce(part);
  for (int64_t r = 0; r < part.rows; r += most) {
    const int64_t rows = std::min(most, part.rows - r);
    move(Form::kFloat32, r, rows, line, part.columns);
    const int64_t stores = row == part.columns ? 1 : rows;
    const kernels::Segment stretch = Whole(rows / stores * part.columns);
    for (int64_t i = 0; i < stores; ++i) {
      writer_.Store(first + (r + i) * row, &stretch, 1, 1, line + i * part.columns);
    }
  }
}

}  // namespace canopy::conv::sheets
