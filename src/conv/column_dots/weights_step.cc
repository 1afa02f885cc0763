// SPDX-License-Identifier: Apache-2.0
#include "conv/column_dots/weights_step.h"

#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "conv/bf16_dot.h"
#include "conv/grid.h"
#include "conv/packing/planes.h"
#include "conv/packing/scratch.h"
#include "conv/streams.h"
#include "conv/work.h"
#include "exec/pool.h"
#include "kernels/dots/contract.h"
#include "kernels/lines/contract.h"

namespace canopy::conv::column_dots {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kStripPixels = 3600;      // rows of input are read again for each strip
constexpr int64_t kSlabFloats = 64 << 10;   // 256 KiB of a 1 MiB L2
constexpr int64_t kSlabMultiple = 16;       // lines of memory, of floats: vectors straddle fewer then
constexpr int64_t kPieceFloats = 16 << 10;  // of output and slab, at a time; somewhat more than the L1 still gains
constexpr int64_t kPiecePixels = 1800, kFewColumnsPixels = 800;
constexpr int64_t kPieceVectors = 128;    // FP32 sums stay short
constexpr int64_t kSumFloats = 96 << 10;  // of a job: 384 KiB, of which a tile is in use at a time
constexpr int64_t kEnoughJobs = 8;
constexpr int64_t kMostPieces = 256;  // of a segment: its sums meet as many terms

// In units of Step::Work.
constexpr double kEfficiency = 0.82, kPairEfficiency = 0.7;
constexpr double kReadWork = 1;  // of a vector of output
constexpr double kFarWork = 15;  // at least, from memory
constexpr double kConvertedWork = 3;
constexpr double kSlabElemWork = 0.5, kPickedElemWork = 1, kPickedPatternWork = 4;
constexpr double kLoneElemWork = 5;  // more of a slab's that serve one column only
constexpr double kSlabRowWork = 90;
constexpr double kTileWork = 40, kTileLineWork = 15, kPatternTileLineWork = 25;
constexpr double kEndWork = 10, kPatternEndWork = 90;  // of a line of output
constexpr double kSumWork = 3, kFarSumWork = 3;        // of a vector of sums, once a piece; more where a tile's are far
constexpr int64_t kNearSumFloats = 8 << 10;
constexpr double kReduceWork = 8;
constexpr double kJobWork = 3000;
constexpr double kStoreWork = 5;     // of a weight
constexpr double kSummedWork = 0.3;  // of a vector of output
constexpr double kBiasElemWork = 0.08, kBiasRowWork = 30;

packing::Strips CutStrips(const Geometry& g) {
  const int64_t inputs = std::max<int64_t>(1, g.group_input_channels());
  for (int64_t pixels = kStripPixels;; pixels /= 2) {
    const packing::Strips strips(g, pixels, 16);
    const int64_t floats = packing::TapSlab::ChannelFloats(g, strips.rows(), strips.columns(), kSlabMultiple);
    if (floats <= kSlabFloats / inputs || pixels < 256) return strips;
  }
}

}  // namespace

ConvProblem InLines(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  const bool alone = g.taps() == 1 && !packing::HasStride(g) && g.pad_begin == Extent3{};
  ConvProblem lines = problem;
  if (!alone || !packing::PlanesRun(problem.input, g.input_size) ||
      !packing::PlanesRun(problem.output, g.output_size)) {
    return lines;
  }
  lines.geometry.input_size =
      lines.geometry.output_size = {1, 1, g.output_size[0] * g.output_size[1] * g.output_size[2]};
  lines.input = packing::Flat(problem.input);
  lines.output = packing::Flat(problem.output);
  return lines;
}

int64_t SlabFloats(const Geometry& g) {
  const packing::Strips strips = CutStrips(g);
  const base::Checked floats =
      base::Checked(packing::TapSlab::ChannelFloats(g, strips.rows(), strips.columns(), kSlabMultiple)) *
      g.group_input_channels();
  return floats.ok() ? floats.value() : packing::kMostTapSlabFloats + 1;
}

WeightsStep::WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : bias_((computation & kBiasFromOutput) != 0),
      sums_(bias_ && problem.rule.input_rounding != numerics::InputRounding::kNone),
      dot_rate_(Bf16VectorDotRate(problem.input.dtype, problem.output.dtype, problem.rule)),
      lanes_(kernels::Dots().lanes) {
  const Geometry& g = problem.geometry;
  inputs_ = g.group_input_channels();
  outputs_ = g.group_output_channels();
  taps_ = inputs_ * g.taps();
  Cut(g);
  work_ = CountWork(problem);
  const int64_t floats = jobs(g.groups) * segments_ * output_block_ * results();
  partial_handle_ = ledger->Book("partial weight gradients", floats * static_cast<int64_t>(sizeof(float)));
  flag_handle_ = ledger->Book("flag", sizeof(std::atomic<int>));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

void WeightsStep::Cut(const Geometry& g) {
  strips_ = CutStrips(g);
  slab_ = packing::TapSlab(g, strips_.rows(), strips_.columns(), kSlabMultiple * (pairs() ? 2 : 1));
  rows_ = kernels::Dots().most_rows();
  // A pixel has an element of each of the tile's output channels, and one in each plane of the slab.
  const int64_t planes = inputs_ * g.kernel[0] * g.stride[1] * g.stride[2];
  const int64_t beside = planes * (slab_.rows() - strips_.rows()) * slab_.pitch();
  const int64_t near = std::max(vector_pixels(), (kPieceFloats - beside) / (rows_ + planes));
  const bool few = taps_ <= 2 * kernels::Dots().most_columns[rows_];
  const int64_t most = std::min({near, few ? kFewColumnsPixels : kPiecePixels, kPieceVectors * vector_pixels()});
  piece_pixels_ = base::PartSize(strips_.columns(), most);
  if (piece_pixels_ < strips_.columns()) piece_pixels_ = RoundUp(piece_pixels_, std::max<int64_t>(vector_pixels(), 16));
  const int64_t lines = std::min(most / piece_pixels_, kPieceVectors / CeilDiv(piece_pixels_, vector_pixels()));
  piece_lines_ = piece_pixels_ < strips_.columns() ? 1 : base::PartSize(strips_.rows(), lines);
  zeros_ = MeetsPadding(g) || g.output_size[2] % vector_pixels() != 0;
  // The same with the bias as without, so that it never seems to take less.
  output_block_ = base::PartSize(outputs_, kSumFloats / ((taps_ + 1) * lanes_));
  if (output_block_ < outputs_) output_block_ = RoundUp(output_block_, rows_);
  output_blocks_ = CeilDiv(outputs_, output_block_);
  const int64_t enough = CeilDiv(kEnoughJobs, std::max<int64_t>(1, jobs(g.groups)));
  const int64_t strips = std::max<int64_t>(1, strips_.count());
  segments_ = std::clamp(std::max(enough, CeilDiv(strips * strip_pieces(), kMostPieces)), int64_t{1}, strips);
}

double WeightsStep::CountWork(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const double scale = static_cast<double>(lanes_) / kWorkLanes;
  const double outputs = static_cast<double>(outputs_), lines = static_cast<double>(taps_);
  const double rows = static_cast<double>(g.batch * g.output_size[0] * g.output_size[1]);
  const double pixels = rows * static_cast<double>(g.output_size[2]), strips = static_cast<double>(strips_.count());
  const double vectors = rows * static_cast<double>(CeilDiv(g.output_size[2], vector_pixels())) * scale;
  const double pieces = strips * static_cast<double>(strip_pieces());
  const bool plain = problem.output.dtype == (pairs() ? numerics::DType::kBFloat16 : numerics::DType::kFloat32) &&
                     problem.rule.input_rounding == numerics::InputRounding::kNone;
  // Of lines, which are multiplied apart.
  const bool ends = strips_.columns() % vector_pixels() != 0 && !(plain && masks());
  const double calls = ends && strips_.columns() > vector_pixels() ? 2 : 1;
  const double most = static_cast<double>(kernels::Dots().most_columns[rows_]);
  const double row_tiles = static_cast<double>(CeilDiv(outputs_, rows_)), tiles = row_tiles * (lines / most + 1);
  const bool picked = problem.input.strides[4] != 1 || g.stride[2] > 2;
  const double sum_work = kSumWork + (rows_ * sum_vectors() * lanes_ > kNearSumFloats ? kFarSumWork : 0);
  const double products = lines / (pairs() ? kPairEfficiency * dot_rate_ / 2 : kEfficiency);
  const double converted = plain ? 0 : kConvertedWork * static_cast<double>(vector_pixels() / lanes_);
  const double read = products + kReadWork + (summing() ? kSummedWork : 0) + converted;
  const bool far = OutgrowsCaches(problem, kBackwardWeights);
  double work = vectors * outputs * (far ? std::max(read, kFarWork) : read);
  work += calls * (pieces * (tiles * kTileWork + outputs * lines * sum_work * scale) +
                   rows * tiles * (pairs() ? kPatternTileLineWork : kTileLineWork)) +
          (ends ? rows * outputs * (pairs() ? kPatternEndWork : kEndWork) : 0);
  work += static_cast<double>(output_blocks_ * inputs_ * g.kernel[0] * g.stride[1] * slab_.rows()) * strips *
          (static_cast<double>(slab_.line_floats()) *
               (kSlabElemWork + (picked ? (pairs() ? kPickedPatternWork : kPickedElemWork) : 0) +
                (g.taps() == 1 ? kLoneElemWork : 0)) +
           kSlabRowWork);
  if (sums_) work += outputs * (pixels * kBiasElemWork + pieces * kBiasRowWork);
  work += outputs * lines * (static_cast<double>(segments_) * kReduceWork + kStoreWork);
  work += static_cast<double>(output_blocks_ * segments_) * kJobWork;
  return work * static_cast<double>(g.groups);
}

WeightsScratch WeightsStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  WeightsScratch scratch;
  const auto floats_of = [&](int64_t elements) { return CeilDiv(elements, int64_t{pairs() ? 2 : 1}); };
  scratch.slab = carver.Take<float>(floats_of(slab_elements()));
  scratch.line = carver.Take<float>(pairs() ? 0 : slab_.line_floats() + kernels::kLineSlack);
  scratch.rows = carver.Take<float>(floats_of(rows_ * piece_lines_ * line_elements()));
  scratch.sums = carver.Take<float>(output_block_ * sum_vectors() * lanes_);
  scratch.biases = carver.Take<float>(sums_ ? output_block_ : 0);
  scratch.tap_offsets = carver.Take<int64_t>(taps_);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string WeightsStep::Describe() const {
  return "strips of " + std::to_string(strips_.rows()) + "x" + std::to_string(strips_.columns()) +
         " output pixels in pieces of " + std::to_string(piece_lines_) + "x" + std::to_string(piece_pixels_) + " by " +
         std::to_string(taps_) + " columns, blocks of " + std::to_string(output_block_) + " output channels, " +
         std::to_string(segments_) + " segments" + (pairs() ? ", BF16 dot products of pairs of pixels" : "");
}

}  // namespace canopy::conv::column_dots
