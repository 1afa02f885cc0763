// SPDX-License-Identifier: Apache-2.0
#include "conv/planes/weights_step.h"

#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "base/matrix_unit.h"
#include "conv/work.h"
#include "exec/pool.h"
#include "kernels/planes/contract.h"

namespace canopy::conv::planes {
namespace {

constexpr int64_t kEnoughJobs = 32;    // shares out evenly over a few threads
constexpr int64_t kSumFloats = 4096;   // of a job's channels, in the first-level cache
constexpr int64_t kMostChannels = 16;  // of a job

// In vector multiply-adds at the peak rate, measured.
constexpr double kLoadWork = 8;        // of a vector
constexpr double kSplitWork = 14;      // where it is split
constexpr double kConversionWork = 4;  // more where elements are not plain FP32
constexpr double kRowWork = 8;         // of a row's way, besides
constexpr double kPassWork = 100;
constexpr double kShortStep = 1.2;  // of rows of a kernel of more taps than these, with short vectors
constexpr int64_t kFewTaps = 9;
constexpr double kStepBesideMatrices = 1.25;  // of a processor that has a matrix unit, by those of others

// The most rows, up to `wanted`, that there are kernels for.
int64_t KernelRows(int64_t wanted) {
  int64_t rows = std::min<int64_t>(wanted, kernels::kMostSumsRows);
  while (kernels::Planes().most_columns[rows] == 0) --rows;
  return rows;
}

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger)
    : rows_(sheets::ResiduesOf(problem.geometry, 1)),
      columns_(sheets::ResiduesOf(problem.geometry, 2)),
      lanes_(kernels::Planes().lanes) {
  const Geometry& g = problem.geometry;
  Cut(g);
  ShareOut(g);
  ListPasses(g);
  const int64_t floats = static_cast<int64_t>(sizeof(float));
  partial_handle_ = ledger->Book("weight gradients", segments_ * g.groups * g.taps() * floats);
  flag_handle_ = ledger->Book("flag", static_cast<int64_t>(sizeof(std::atomic<int>)));
  const int64_t residues = static_cast<int64_t>(rows_.size() * columns_.size());
  const int64_t thread_floats = residues * input_floats_ + output_floats_ + sums_floats_ + line_floats_;
  scratch_handle_ = ledger->BookEach("sheets", thread_floats * floats, exec::ThreadCount());
  work_ = CountWork(problem);
}

void WeightsStep::Cut(const Geometry& g) {
  int64_t image_pitch = g.output_size[2], right = 0, input = 0;
  for (const sheets::Residue& c : columns_) {
    if (c.offsets == 0) continue;
    left_ = std::max(left_, -c.first);
    right = std::max(right, c.first + c.offsets);
    input = std::max(input, c.input);
    image_pitch = std::max({image_pitch, g.output_size[2] + c.first + c.offsets - 1, c.input - c.first});
  }
  left_ = base::RoundUp(left_, lanes_);  // the input's columns are aligned
  for (const sheets::Residue& r : rows_) {
    if (r.offsets == 0) continue;
    const int64_t first = std::max<int64_t>(0, r.first);
    const int64_t end = std::min(r.input, g.output_size[1] + r.first + r.offsets - 1);
    above_ = std::max(above_, r.first + r.offsets - 1 - first);
    below_ = std::max(below_, end - r.first - g.output_size[1]);
  }
  fold_ = sheets::ChooseFold(g.batch, g.output_size[2], image_pitch, 2 * g.output_size[1], lanes_);
  image_blocks_ = base::CeilDiv(g.batch, fold_.images);
  vectors_ = base::CeilDiv(fold_.Width(g.output_size[2]), lanes_);
  input_row_ =
      sheets::RowPitch(std::max(left_ + right + vectors_ * lanes_, left_ + fold_.Width(input) + lanes_), lanes_);
  input_floats_ = base::CeilDiv(g.input_size[1], g.stride[1]) * input_row_;
  output_row_ = sheets::RowPitch(std::max(vectors_ * lanes_, fold_.Width(g.output_size[2]) + lanes_), lanes_);
  output_floats_ = (above_ + g.output_size[1] + below_) * output_row_;
}

void WeightsStep::ShareOut(const Geometry& g) {
  const int64_t taps = g.taps() * lanes_;
  items_ = image_blocks_ * g.output_size[0];
  channel_block_ = std::clamp<int64_t>(std::min(kSumFloats / taps, g.groups / kEnoughJobs), 1, kMostChannels);
  channel_blocks_ = base::CeilDiv(g.groups, channel_block_);
  segments_ = std::clamp<int64_t>(kEnoughJobs / channel_blocks_, 1, items_);
  segments_ = base::CeilDiv(items_, base::CeilDiv(items_, segments_));
  sums_floats_ = channel_block_ * taps;
  line_floats_ = base::RoundUp(sheets::LineFloats(std::max(g.input_size[2], g.output_size[2])), lanes_);
}

void WeightsStep::ListPasses(const Geometry& g) {
  for (size_t i = 0; i < rows_.size(); ++i) {
    const sheets::Residue& h = rows_[i];
    const int64_t row_parts = h.offsets > 0 ? base::CeilDiv(h.offsets, KernelRows(h.offsets)) : 0;
    for (int64_t row_part = 0, row = 0; row < h.offsets; ++row_part) {
      const int64_t rows = KernelRows(std::max<int64_t>(1, (row_part + 1) * h.offsets / row_parts - row));
      for (size_t j = 0; j < columns_.size(); ++j) {
        const sheets::Residue& w = columns_[j];
        const int64_t parts = base::CeilDiv(w.offsets, int64_t{kernels::Planes().most_columns[rows]});
        for (int64_t part = 0; part < parts; ++part) {
          Pass pass{
              static_cast<int64_t>(i), static_cast<int64_t>(j), row, rows, part * w.offsets / parts, 0, 0, 0, 0, 0};
          pass.columns = (part + 1) * w.offsets / parts - pass.column;
          pass.first_row = std::max<int64_t>(0, h.first + row);
          pass.end_row = std::min(h.input, g.output_size[1] + h.first + row + rows - 1);
          const int64_t first = std::max<int64_t>(0, -(w.first + pass.column + pass.columns - 1));
          const int64_t end = std::min(g.output_size[2], w.input - w.first - pass.column);
          if (pass.first_row >= pass.end_row || first >= end) continue;
          const bool one = fold_.images == 1;
          pass.first_vector = one ? first / lanes_ : 0;
          pass.end_vector = one ? base::CeilDiv(end, lanes_) : vectors_;
          passes_.push_back(pass);
        }
      }
      row += rows;
    }
  }
}

double WeightsStep::CountWork(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const auto conversion = [&](const Operand& operand) { return problem.IsPlain(operand) ? 0 : kConversionWork; };
  const auto copies = [&](const Extent3& size, double vector) {
    return static_cast<double>(fold_.images * size[1]) *
           (kRowWork + static_cast<double>(size[2]) / static_cast<double>(lanes_) * vector);
  };
  double work = copies(g.output_size, kLoadWork + conversion(problem.output)) +
                copies(g.input_size, (g.stride[2] == 1 ? kLoadWork : kSplitWork) + conversion(problem.input));
  const double step = base::MatrixUnit() ? kStepBesideMatrices : 1;
  const bool slow_rows = ShortVectors() && rows_.size() == 1 && g.taps() > kFewTaps;
  for (const Pass& pass : passes_) {
    const double steps = static_cast<double>((pass.end_row - pass.first_row) * (pass.end_vector - pass.first_vector));
    const double products = static_cast<double>(pass.rows * pass.columns);
    // A load takes as long as a multiply-add, an unaligned one as two.
    const double loads = static_cast<double>(pass.rows + 2 * pass.columns);
    work += kPassWork + products +
            steps * (slow_rows && pass.rows > 1 ? kShortStep : step) * std::max({products, loads, 6.0});
  }
  return work * static_cast<double>(g.groups * items_ * lanes_) / kWorkLanes;
}

std::string WeightsStep::Describe() const {
  return "sheets of " + std::to_string(fold_.images) + " images and " + std::to_string(vectors_) + " vectors a row, " +
         std::to_string(passes_.size()) + " passes, " + std::to_string(channel_blocks_ * segments_) + " jobs, " +
         std::to_string(segments_) + " segments";
}

}  // namespace canopy::conv::planes
