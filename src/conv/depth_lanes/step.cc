// SPDX-License-Identifier: Apache-2.0
#include "conv/depth_lanes/step.h"

#include <algorithm>

#include "base/checked_math.h"
#include "base/cpu.h"
#include "conv/depth_lanes/sheets.h"
#include "conv/streams.h"
#include "conv/work.h"
#include "kernels/streams.h"

namespace canopy::conv::depth_lanes {
namespace {

constexpr int64_t kEnoughJobs = 32;           // shares out evenly over a few threads
constexpr int64_t kSheetFloats = 32 << 10;    // of all sheets: rows are used again while they are in the L1
constexpr int64_t kSideBySideBlocks = 4;      // whose vectors of a pixel lie in neighbouring cache lines
constexpr int64_t kFarFloats = 32 << 10;      // of the input in a band of all channels, which waits in the L2
constexpr int64_t kMostFarSums = 1536 << 10;  // of all segments, each of which has all channels: 6 MiB
constexpr int64_t kFewTaps = 9;               // of larger kernels products take longer than memory

// In vector multiply-adds at the peak rate, measured.
constexpr double kTransposeWork = 9;          // of a vector's way into a sheet, or out of it
constexpr double kHalvesTransposeWork = 5.5;  // likewise, where a multiply-add takes twice as long
constexpr double kFarTransposeWork = 14;      // likewise, from memory: pixels of a vector are in as many pages
constexpr double kAskedTransposeWork = 6.5;   // likewise, of planes that were asked for
constexpr double kCopyWork = 4;               // where channels lie side by side
constexpr double kConversionWork = 3;         // more where elements are not plain FP32
constexpr double kPixelWork = 3;              // of a pass, besides its products
constexpr double kLeastWork = 5;              // likewise, where sums wait for one another
constexpr double kRowWork = 12;
constexpr double kPassWork = 50;
constexpr double kSheetWork = 200;
constexpr double kOverhead = 1.25;

// The fewest parts.
double PartsOf(const sheets::PassSize& size, int64_t rows, int64_t columns) {
  return static_cast<double>(base::CeilDiv(rows, size.rows) * base::CeilDiv(columns, size.columns));
}

}  // namespace

DepthStep::DepthStep(const ConvProblem& problem, uint8_t computations, plan::WorkspaceLedger* ledger)
    : computations_(computations),
      rows_(problem.geometry, 1),
      columns_(problem.geometry, 2),
      passes_(sheets::ListPasses(rows_, columns_, kernels::DepthLanes().most_columns, PartsOf)),
      lanes_(kernels::DepthLanes().lanes),
      layout_(problem.geometry.batch, problem.geometry.groups, lanes_),
      gaps_(rows_.HasGaps() || columns_.HasGaps()) {
  far_ = IsFar(problem);
  Cut(problem);
  asks_ = AsksForPlanes(problem);
  ShareOut(problem);
  BookWorkspace(problem.geometry, ledger);
  work_ = CountWork(problem);
}

bool DepthStep::IsFar(const ConvProblem& problem) const {
  const auto whole = [](int64_t stride) { return stride % kernels::kMemoryLineFloats == 0; };
  const auto once = [](const sheets::Pass& pass) { return pass.first && pass.last; };
  const Operand& result = problem.input_result;
  if (lanes_ != kernels::kMemoryLineFloats || !SideBySide(problem.output)) return false;
  const int64_t sums = weights() ? problem.geometry.groups * problem.geometry.taps() : 0;
  if ((weights() && !SideBySide(problem.input)) || kEnoughJobs * sums > kMostFarSums) return false;
  const bool lines = SideBySide(result) && result.dtype == numerics::DType::kFloat32 && whole(result.strides[0]) &&
                     std::all_of(result.strides.begin() + 2, result.strides.end(), whole) &&
                     std::all_of(passes_.begin(), passes_.end(), once);
  if (data() && (!lines || gaps_)) return false;
  const bool slow = L3IsSlow() && problem.geometry.taps() <= kFewTaps && OutgrowsL2s(problem, computations_);
  return slow || OutgrowsCaches(problem, computations_);
}

bool DepthStep::AsksForPlanes(const ConvProblem& problem) const {
  // Timed with short vectors only: with longer ones other algorithms serve most such layers.
  if (bands_ > 1 || !ShortVectors() || !OutgrowsL2s(problem, computations_)) return false;
  const auto follow = [](const Operand& operand, const Extent3& size) {
    const auto& s = operand.strides;
    return s[4] == 1 && s[3] == size[2] && s[1] == size[1] * size[2];
  };
  const Geometry& g = problem.geometry;
  return follow(problem.output, g.output_size) && (!weights() || follow(problem.input, g.input_size)) &&
         (!data() || follow(problem.input_result, g.input_size));
}

void DepthStep::Cut(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  row_pitch_ = columns_.Pitch() * lanes_;
  front_ = std::max<int64_t>(0, columns_.before) * lanes_;
  const bool input_sheet = weights() && !(SideBySide(problem.input) && problem.IsPlain(problem.input));
  const bool result_sheet = data() && !SideBySide(problem.input_result);
  const int64_t reach = rows_.before + rows_.after;
  const int64_t input_row = g.stride[1] * g.input_size[2] * lanes_;  // of one row of positions
  const int64_t row = row_pitch_ + input_row * ((input_sheet ? 1 : 0) + (result_sheet ? 1 : 0));
  int64_t most = std::clamp<int64_t>((kSheetFloats - reach * row_pitch_) / row, 1, rows_.positions);
  if (far_) most = std::clamp<int64_t>(kFarFloats / (g.groups * g.stride[1] * g.input_size[2]), 1, most);
  bands_ = base::CeilDiv(rows_.positions, most);
  band_ = base::CeilDiv(rows_.positions, bands_);
  bands_ = base::CeilDiv(rows_.positions, band_);
  output_floats_ = front_ + (band_ + reach) * row_pitch_;
  input_floats_ = band_ * input_row;
  const int64_t outputs = columns_.Existing();
  for (int64_t i = 0; i < (band_ + reach) * outputs; ++i) {
    output_places_.push_back(i / outputs * row_pitch_ + i % outputs * lanes_);
  }
  for (int64_t i = 0; i < std::max(input_floats_ / lanes_, g.taps()); ++i) input_places_.push_back(i * lanes_);
}

void DepthStep::ShareOut(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  items_ = layout_.image_blocks * g.output_size[0] * bands_;
  chunk_ = far_                         ? layout_.group_blocks
           : SideBySide(problem.output) ? std::min(kSideBySideBlocks, layout_.group_blocks)
                                        : 1;
  chunks_ = base::CeilDiv(layout_.group_blocks, chunk_);
  segments_ = std::clamp<int64_t>(kEnoughJobs / chunks_, 1, items_);
  segments_ = base::CeilDiv(items_, base::CeilDiv(items_, segments_));
}

void DepthStep::BookWorkspace(const Geometry& g, plan::WorkspaceLedger* ledger) {
  constexpr int64_t kLine = 32;  // floats: sheets begin where the ledger's entries do
  sums_floats_ =
      base::RoundUp(((weights() ? g.taps() : 0) + (bias() ? 1 : 0)) * lanes_, int64_t{kernels::kMostDepthLanes});
  output_floats_ = base::RoundUp(output_floats_, kLine);
  input_floats_ = base::RoundUp(input_floats_, kLine);
  const int64_t lines = std::max(LineFloats(lanes_), lanes_ * g.taps() + kernels::kLineSlack);
  workspace_.Book(data() ? layout_.group_blocks * g.taps() * lanes_ : 0,
                  segments_ * layout_.group_blocks * sums_floats_, output_floats_ + results() * input_floats_ + lines,
                  ledger);
}

double DepthStep::CountWork(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const double transpose = asks_                                    ? kAskedTransposeWork
                           : OutgrowsCaches(problem, computations_) ? kFarTransposeWork
                           : base::Cpu().halves                     ? kHalvesTransposeWork
                                                                    : kTransposeWork;
  const auto moves = [&](const Operand& operand, int64_t rows, int64_t columns, bool in_place) {
    const bool side = SideBySide(operand), plain = problem.IsPlain(operand);
    if (in_place && side && plain) return 0.0;
    return static_cast<double>(rows * columns) * ((side ? kCopyWork : transpose) + (plain ? 0 : kConversionWork));
  };
  const int64_t halo = (bands_ - 1) * (rows_.before + rows_.after);
  double work = kSheetWork * static_cast<double>(bands_) +
                moves(problem.output, rows_.Existing() + halo, columns_.Existing(), false);
  if (weights()) work += moves(problem.input, g.input_size[1], g.input_size[2], true);
  if (data()) work += moves(problem.input_result, g.input_size[1], g.input_size[2], true);
  for (const sheets::Pass& pass : passes_) {
    const double products = static_cast<double>(pass.rows * pass.columns * results());
    const double row =
        kRowWork + static_cast<double>(columns_.positions) * (kPixelWork + std::max(kLeastWork, products));
    work += kPassWork * static_cast<double>(bands_) + row * static_cast<double>(rows_.positions);
  }
  work *= kOverhead * static_cast<double>(layout_.group_blocks * layout_.image_blocks * g.output_size[0]);
  return work * static_cast<double>(lanes_) / kWorkLanes;
}

std::string DepthStep::Describe() const {
  return std::to_string(layout_.block_groups) + " groups and " + std::to_string(layout_.block_images) +
         " images as lanes, bands of " + std::to_string(band_) + " rows, " + std::to_string(passes_.size()) +
         " passes, " + std::to_string(chunks_ * segments_) + " jobs, " + std::to_string(segments_) + " segments" +
         (far_ ? ", results past the caches" : "");
}

}  // namespace canopy::conv::depth_lanes
