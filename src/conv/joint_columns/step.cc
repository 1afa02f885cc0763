// SPDX-License-Identifier: Apache-2.0
#include "conv/joint_columns/step.h"

#include <algorithm>
#include <atomic>

#include "conv/packing/scratch.h"
#include "conv/packing/tile_width.h"
#include "conv/tensor_lines.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::joint_columns {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kPiecePixels = 1600;
constexpr int64_t kStripPixels = 400;  // with kChunk: 200 KiB of a 1 MiB L2, and as much of the next block
constexpr int64_t kChunk = 128;
constexpr int64_t kEnoughJobs = 16;
constexpr int64_t kMostPieces = 256;  // of a job: its sums meet as many terms
constexpr int64_t kSlabMultiple = 16;

// In units of Step::Work.
constexpr double kDataEfficiency = 0.85;
constexpr double kWeightsEfficiency = 0.8;
constexpr double kReadWork = 0.5;  // of a vector of output, by a tile of weights' sums
constexpr double kBiasWork = 0.3;  // likewise, once
constexpr double kTileWork = 80, kDotsWork = 60;
constexpr double kSumWork = 3;     // of a vector of sums, once a block
constexpr double kReduceWork = 8;  // likewise, once a piece
constexpr double kAddedVector = 4;
constexpr double kStoreWork = 3;  // of an input position
constexpr double kWeightWork = 6;
constexpr double kPieceWork = 5000;

int64_t PiecePixels(const Geometry& g) { return RoundUp(base::PartSize(g.output_size[2], kPiecePixels), 16); }

}  // namespace

int64_t SlabFloats(const Geometry& g) {
  return g.input_channels * packing::TapSlab::ChannelFloats(g, 1, PiecePixels(g), kSlabMultiple);
}

JointStep::JointStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : bias_((computation & kBiasFromOutput) != 0), tiles_(kernels::AllGatherTiles()) {
  const Geometry& g = problem.geometry;
  inputs_ = g.input_channels;
  outputs_ = g.output_channels;
  columns_ = inputs_ * g.kernel[2];
  vectors_ = packing::TileWidth(tiles_, columns_);
  lanes_ = kernels::Dots().lanes;
  Cut(g);
  work_ = CountWork(problem);
  constexpr int64_t kFloat = sizeof(float);
  packed_handle_ = ledger->Book("packed weights", outputs_ * columns_ * kFloat);
  partial_handle_ = ledger->Book("partial weight gradients", jobs_ * partial_floats() * kFloat);
  flag_handle_ = ledger->Book("flag", sizeof(std::atomic<int>));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

void JointStep::Cut(const Geometry& g) {
  reach_ = (g.kernel[2] - 1) * g.dilation[2] / g.stride[2];
  piece_ = PiecePixels(g);
  strip_ = std::min(piece_, kStripPixels);
  chunk_ = base::PartSize(outputs_, kChunk);
  slab_ = packing::TapSlab(g, 1, piece_, kSlabMultiple);
  // A panel of pixels may begin before a strip, and another behind it.
  block_pitch_ = RoundUp(strip_ + reach_ + 2 * panel_lanes(), 16) + 16;
  product_pitch_ = RoundUp(piece_ + reach_, panel_lanes());
  const int64_t last = pieces(g) - 1;
  const Piece ends[] = {PieceAt(g, 0), PieceAt(g, last)};
  int64_t positions = (piece_ + 2 * reach_ + 1) * g.stride[2];
  for (const Piece& piece : ends) positions = std::max(positions, piece.high - piece.origin);
  phase_floats_ = RoundUp(CeilDiv(positions, g.stride[2]) + 1, 16);
  jobs_ = std::min(pieces(g), std::max(kEnoughJobs, CeilDiv(pieces(g), kMostPieces)));
}

Piece JointStep::PieceAt(const Geometry& g, int64_t index) const {
  const int64_t a_row = CeilDiv(g.output_size[2], piece_), number = index % a_row;
  const auto position = [&](int64_t pixel) { return pixel * g.stride[2] - g.pad_begin[2]; };
  Piece piece;
  piece.image = index / a_row;
  piece.begin = number * piece_;
  piece.end = std::min(g.output_size[2], piece.begin + piece_);
  piece.first = std::max<int64_t>(0, piece.begin - reach_);
  piece.origin = position(piece.first);
  const int64_t size = g.input_size[2];
  piece.low = number == 0 ? 0 : std::clamp<int64_t>(position(piece.begin), 0, size);
  piece.high = piece.end == g.output_size[2] ? size : std::clamp<int64_t>(position(piece.end), 0, size);
  return piece;
}

double JointStep::CountWork(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const double scale = static_cast<double>(lanes_) / kWorkLanes;
  const double outputs = static_cast<double>(outputs_), columns = static_cast<double>(columns_);
  const double all = static_cast<double>(pieces(g)), chunks = static_cast<double>(CeilDiv(outputs_, chunk_));
  const int64_t a_piece = std::min(piece_, g.output_size[2]);
  const double vectors = all * static_cast<double>(CeilDiv(a_piece, lanes_)) * scale;
  const double panels = all * static_cast<double>(CeilDiv(a_piece + reach_, panel_lanes()));
  const double strips = all * static_cast<double>(CeilDiv(a_piece, strip_));
  const int rows = kernels::Dots().most_rows();
  const int64_t a_row = TilesOf(rows).count();
  const double tiles = static_cast<double>(CeilDiv(outputs_, rows) * a_row);
  const double row_panels = static_cast<double>(CeilDiv(columns_, tiles_.tiles[vectors_ - 1].most_rows));
  const double read = columns / kWeightsEfficiency + static_cast<double>(a_row) * kReadWork + (bias_ ? kBiasWork : 0);
  return vectors * outputs * read +
         panels * static_cast<double>(vectors_) * scale * outputs * columns / kDataEfficiency +
         panels * chunks * row_panels * kTileWork + strips * tiles * kDotsWork +
         strips * outputs * columns * kSumWork * scale + all * outputs * columns * kReduceWork * scale +
         vectors * columns * kAddedVector + outputs * columns * kWeightWork +
         static_cast<double>(g.batch * inputs_ * g.input_size[2]) * kStoreWork + all * kPieceWork;
}

JointScratch JointStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  JointScratch scratch;
  const int64_t residues = slab_.line_floats() / slab_.pitch();
  scratch.slab = carver.Take<float>(inputs_ * slab_.channel_floats() + 2 * kernels::kLineSlack);
  scratch.line = carver.Take<float>(std::max(slab_.line_floats(), residues * phase_floats_) + kernels::kLineSlack);
  scratch.block = carver.Take<float>(chunk_ * block_pitch_);
  scratch.ends = carver.Take<float>(chunk_ * panel_lanes());
  scratch.products = carver.Take<float>(columns_ * product_pitch_);
  scratch.sums = carver.Take<float>(chunk_ * results() * lanes_);
  scratch.reduced = carver.Take<float>(chunk_ * results());
  scratch.phases = carver.Take<float>(inputs_ * residues * phase_floats_);
  scratch.tap_offsets = carver.Take<int64_t>(columns_);
  scratch.sum_offsets = carver.Take<int64_t>(columns_);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string JointStep::Describe() const {
  return "pieces of " + std::to_string(piece_) + " output pixels by " + std::to_string(columns_) +
         " columns, blocks of " + std::to_string(chunk_) + " output channels by " + std::to_string(strip_) +
         " pixels, " + std::to_string(jobs_) + " jobs";
}

}  // namespace canopy::conv::joint_columns
