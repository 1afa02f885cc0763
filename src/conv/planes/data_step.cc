// SPDX-License-Identifier: Apache-2.0
#include "conv/planes/data_step.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/work.h"
#include "exec/pool.h"
#include "kernels/planes/contract.h"

namespace canopy::conv::planes {
namespace {

constexpr int64_t kEnoughJobs = 32;     // shares out evenly over a few threads
constexpr int64_t kMostPlanes = 32;     // of a job
constexpr int64_t kBandFloats = 12288;  // of a sheet; larger planes are cut
constexpr int64_t kMostRows = kernels::kMostPlaneRows;
constexpr int64_t kLineBytes = 64;
constexpr int64_t kStripFloats = 2048;

// In vector multiply-adds at the peak rate, measured.
constexpr double kLoadWork = 4, kStoreWork = 5;  // of a vector
constexpr double kConversionWork = 4;            // more where elements are not plain FP32
constexpr double kRowWork = 4;                   // of a row's way, besides
constexpr double kBlockWork = 40;                // of a kernel's block of rows
constexpr double kPlaneWork = 60;
constexpr double kOverhead = 1;

}  // namespace

DataAxis::DataAxis(const Geometry& g, Computation computation, int axis) {
  bool gaps = false;
  const std::vector<depthwise::AxisLaw> all = depthwise::LawsOfAxis(g, computation, axis, &gaps);
  laws = gaps ? 0 : all.size();
  if (laws == 1) law = all[0];
}

DataStep::DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : forward_(computation == kForward),
      rows_(problem.geometry, computation, 1),
      columns_(problem.geometry, computation, 2),
      depths_(problem.geometry.output_size[0]),
      lanes_(kernels::Planes().lanes) {
  const Geometry& g = problem.geometry;
  const Operand& source = forward_ ? problem.input : problem.output;
  const Operand& result = forward_ ? problem.output_result : problem.input_result;
  source_row_bytes_ = source.strides[3] * numerics::ElementBytes(source.dtype);
  result_row_bytes_ = result.strides[3] * numerics::ElementBytes(result.dtype);
  Cut(g);
  band_cut_ = CutOf(band_);
  strip_cut_ = CutOf(strip_);
  packed_handle_ = ledger->Book("weights", g.groups * g.taps() * static_cast<int64_t>(sizeof(float)));
  scratch_handle_ =
      ledger->BookEach("sheets", thread_floats_ * static_cast<int64_t>(sizeof(float)), exec::ThreadCount());
  work_ = CountWork(problem);
}

// Kernels' rows are evened out, so that few are left over.
StencilCut DataStep::CutOf(int64_t results) const {
  const kernels::PlaneKernels& kernels = kernels::Planes();
  StencilCut cut;
  cut.results = results;
  cut.rows = static_cast<int>(base::PartSize(results, kMostRows));
  while (kernels.at_once[cut.rows] == 0) --cut.rows;
  cut.parts = base::CeilDiv(rows_.taps(), int64_t{kernels::kMostPlaneTaps});
  if (fold_.images > 1) return cut;
  const int64_t at_once = kernels.at_once[cut.rows];
  const int64_t steps = columns_.taps() * (vectors_ / at_once + vectors_ % at_once);
  const int64_t from = cut.rows * source_row_bytes_, to = cut.rows * result_row_bytes_;
  cut.ahead_lines = base::CeilDiv(std::max<int64_t>({from, to, 0}), kLineBytes * steps);
  cut.read_step = from / steps;
  cut.write_step = to / steps;
  return cut;
}

void DataStep::Cut(const Geometry& g) {
  const int64_t width = columns_.results(), size = columns_.law.source_size, before = columns_.before();
  const int64_t span = width + columns_.taps() - 1;
  const int64_t image_pitch = std::max({span - before, before + size, width});
  const int64_t rows = rows_.results() + rows_.taps() - 1;
  fold_ = sheets::ChooseFold(g.batch, width, image_pitch, rows, lanes_);
  image_blocks_ = base::CeilDiv(g.batch, fold_.images);
  vectors_ = base::CeilDiv(fold_.Width(width), lanes_);
  left_ = base::RoundUp(before, lanes_) - before;
  // Rows are placed as whole vectors, behind which nothing but margins may lie.
  sheet_row_ = sheets::RowPitch(
      left_ + std::max(vectors_ * lanes_ + columns_.taps() - 1, fold_.Width(before + size) + lanes_), lanes_);
  const int64_t parts = base::CeilDiv(rows * sheet_row_, kBandFloats);
  band_ = std::min(rows_.results(), base::RoundUp(base::CeilDiv(rows_.results(), parts), kMostRows));
  sheet_rows_ = band_ + rows_.taps() - 1;
  sheet_floats_ = sheet_rows_ * sheet_row_;
  result_row_ = sheets::RowPitch(vectors_ * lanes_, lanes_);
  strip_ = std::clamp(kStripFloats / result_row_ / kMostRows * kMostRows, kMostRows, base::RoundUp(band_, kMostRows));
  result_floats_ = strip_ * result_row_;
  line_floats_ = base::RoundUp(sheets::LineFloats(std::max(size, width)), lanes_);
  thread_floats_ = base::RoundUp(sheet_floats_ + result_floats_ + line_floats_, int64_t{32});
  channel_block_ = std::clamp<int64_t>(g.groups * image_blocks_ * depths_ / kEnoughJobs, 1, kMostPlanes);
  channel_block_ = std::min(channel_block_, g.groups);
  channel_blocks_ = base::CeilDiv(g.groups, channel_block_);
}

double DataStep::CountWork(const ConvProblem& problem) const {
  const Operand& source = forward_ ? problem.input : problem.output;
  const Operand& result = forward_ ? problem.output_result : problem.input_result;
  const auto conversion = [&](const Operand& operand) { return problem.IsPlain(operand) ? 0 : kConversionWork; };
  const auto copies = [&](const DataAxis& rows, const DataAxis& columns, bool results, double vector) {
    const int64_t count = results ? rows.results() : rows.law.source_size;
    const int64_t width = results ? columns.results() : columns.law.source_size;
    return static_cast<double>(fold_.images * count) *
           (kRowWork + static_cast<double>(width) / static_cast<double>(lanes_) * vector);
  };
  double work = kPlaneWork * static_cast<double>(fold_.images);
  work += copies(rows_, columns_, false, kLoadWork + conversion(source));
  work += copies(rows_, columns_, true, kStoreWork + conversion(result));
  const int64_t rows = band_cut_.rows, taps = base::CeilDiv(rows_.taps(), band_cut_.parts);
  const int64_t blocks = base::CeilDiv(rows_.results(), rows) * band_cut_.parts;
  const int64_t at_once = std::min<int64_t>(vectors_, kernels::Planes().at_once[rows]);
  // Four cycles until a sum is ready for its next term; a load of an unaligned vector takes one, and more where each
  // serves a single term.
  const double products = static_cast<double>(rows * taps), latency = 8.0 * static_cast<double>(taps) / at_once;
  const double load = rows * taps == 1 ? 3.4 : 2.0;
  const double loads = load * static_cast<double>(rows + taps - 1) + static_cast<double>(taps) / at_once;
  const double column = std::max({products, latency, loads});
  work += static_cast<double>(blocks * vectors_) *
          (static_cast<double>(columns_.taps()) * column + kBlockWork / at_once + 2.0 * static_cast<double>(rows));
  work *= kOverhead * static_cast<double>(problem.geometry.groups * image_blocks_ * depths_);
  return work * static_cast<double>(lanes_) / kWorkLanes;
}

std::string DataStep::Describe() const {
  return "sheets of " + std::to_string(fold_.images) + " images, " + std::to_string(sheet_rows_) + " rows of " +
         std::to_string(vectors_) + " vectors, bands of " + std::to_string(band_) + " rows, " +
         std::to_string(channel_blocks_ * image_blocks_ * depths_) + " jobs";
}

}  // namespace canopy::conv::planes
