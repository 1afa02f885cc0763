// SPDX-License-Identifier: Apache-2.0
#include "conv/columns/data_step.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/bf16_dot.h"
#include "conv/elements.h"
#include "conv/packing/planes.h"
#include "conv/packing/scratch.h"
#include "conv/packing/tile_width.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::columns {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kMostTerms = 256;  // of one tile call: FP32 sums stay short
constexpr int64_t kNearTerms = 64;   // of channels that lie pages apart, where one panel takes all columns
constexpr int64_t kPageBytes = 4096;
constexpr int64_t kMostChannels = 64;       // where each has one column: then whole planes are written at once
constexpr int64_t kMostColumns = 256;       // with kMostTerms: 256 KiB of packed weights
constexpr int64_t kSumFloats = 224 << 10;   // of a piece: 896 KiB, of which a few rows are in use at a time
constexpr int64_t kPixelFloats = 32 << 10;  // of a panel: 128 KiB of a 1 MiB L2
constexpr int64_t kMostTiles = 4;           // side by side
constexpr int64_t kEnoughJobs = 16;
constexpr int64_t kLeastRows = 8;  // of a piece, before jobs are found elsewhere
constexpr int64_t kLeastLine = 2048;

// In units of Step::Work.
constexpr double kEfficiency = 0.95;  // of the tiles, operands in the L2
constexpr double kWorkAPackedWeight = 1;
constexpr double kWorkACopiedPixel = 0.2;  // by the first row panel's tiles
constexpr double kWorkAConvertedElem = 0.7;
constexpr double kWorkATransposedElem = 1;
constexpr double kWorkAPairedElem = 0.4;  // of 16 bits, for dot products
constexpr double kWorkAnAddedVector = 4;  // of products, to the sums
constexpr double kWorkAnAddedRow = 40;
constexpr double kWorkAStore = 2;        // clearing and storing one sum
constexpr double kWorkAnInterleave = 1;  // more where phases are interleaved
constexpr double kWorkAScatter = 2;      // more where pixels of a row lie apart
constexpr double kWorkATileVector = 2;
constexpr double kWorkATileCall = 60;
constexpr double kWorkAJob = 4000;

}  // namespace

DataStep::DataStep(const ConvProblem& problem, plan::WorkspaceLedger* ledger)
    : transposes_(!packing::PlanesRun(problem.output, problem.geometry.output_size)),
      dot_rate_(transposes_ ? 0 : Bf16DotRate(problem.output.dtype, problem.weight.dtype, problem.rule)),
      tiles_(dot_rate_ > 0 ? kernels::PairGatherTiles() : kernels::AllGatherTiles()) {
  const Geometry& g = problem.geometry;
  input_channels_ = g.group_input_channels();
  output_channels_ = g.group_output_channels();
  taps_ = g.taps();
  const int64_t blocks =
      CeilDiv(input_channels_, std::max<int64_t>(1, (taps_ == 1 ? kMostChannels : kMostColumns) / taps_));
  block_ = std::max<int64_t>(1, CeilDiv(input_channels_, std::max<int64_t>(1, blocks)));
  blocks_ = CeilDiv(input_channels_, block_);
  vectors_ = packing::TileWidth(tiles_, columns());
  // Pixels that are multiplied but once come from memory meanwhile: a few channels at a time, as the processor looks
  // ahead in a few pages only. Where they are converted first, longer lists of channels are quicker.
  const int64_t plane_bytes = Volume(g.output_size) * numerics::ElementBytes(problem.output.dtype);
  const bool converted = dot_rate_ == 0 && problem.output.dtype != numerics::DType::kFloat32;
  const bool near = row_panels(columns()) == 1 && plane_bytes >= kPageBytes && !converted && !transposes_;
  const int64_t chunks = std::max<int64_t>(1, CeilDiv(Terms(output_channels_), near ? kNearTerms : kMostTerms));
  chunk_ = std::max<int64_t>(1, CeilDiv(Terms(output_channels_), chunks)) * a_term();
  panel_ = lanes() * std::clamp<int64_t>(kPixelFloats / (Terms(chunk_) * lanes()), 1, kMostTiles);
  Cut(g);
  packed_handle_ =
      ledger->Book("packed weights", g.groups * blocks_ * PackedFloats() * static_cast<int64_t>(sizeof(float)));
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
  CountWork(problem);
}

// Pieces whose sums stay in the cache, and enough of them. They decide the order of sums and depend on the problem
// alone.
void DataStep::Cut(const Geometry& g) {
  Extent3 part = g.input_size;
  const auto apply = [&] {
    pieces_ = Pieces(g, part);
    const int64_t reach = (g.kernel[2] - 1) * g.dilation[2];
    phase_floats_ = RoundUp((pieces_.part()[2] - 1 + reach) / g.stride[2] + 2 + reach / g.stride[2], 16);
    row_floats_ = phase_floats_ * g.stride[2];
  };
  const auto halve = [&](int axis, int64_t least) {
    // Halves that hold whole strides share no output pixels that need not be shared.
    const int64_t half = RoundUp(CeilDiv(part[axis], 2), g.stride[axis]);
    if (part[axis] <= least || half >= part[axis]) return false;
    part[axis] = half;
    apply();
    return true;
  };
  apply();
  const int64_t least_rows = std::max(kLeastRows, g.stride[1]) + (g.kernel[1] - 1) * g.dilation[1];
  while (SumFloats() > kSumFloats) {
    if (!halve(1, least_rows) && !halve(0, 1) && !halve(2, kLeastLine) && !halve(1, 1) && !halve(2, 16)) break;
  }
  while (g.groups * blocks_ * pieces_.count() < kEnoughJobs) {
    if (!halve(1, 4 * least_rows) && !halve(2, 2 * kLeastLine)) break;
  }
}

int64_t DataStep::SumFloats() const {
  return (block_ * pieces_.reached_rows(0) * pieces_.reached_rows(1) + 2) * row_floats_;
}

void DataStep::CountWork(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  double pixels = 0, vectors = 0, tiles = 0, panels = 0, rows = 0;
  for (int64_t i = 0; i < pieces_.an_image(); ++i) {
    const Piece piece = pieces_.At(i);
    pieces_.ForEachRun(piece, [&](int64_t, int64_t count) {
      pixels += static_cast<double>(count);
      vectors += static_cast<double>(CeilDiv(count, tiles_.vector_lanes) * tiles_.vector_lanes) / 16;
      tiles += static_cast<double>(CeilDiv(count, lanes()));
      panels += static_cast<double>(CeilDiv(count, panel_));
    });
    if (!piece.empty()) rows += static_cast<double>(piece.reached(0) * piece.reached(1));
  }
  const double columns = static_cast<double>(input_channels_ * taps_), outputs = static_cast<double>(output_channels_);
  const double blocks = static_cast<double>(blocks_), chunks = static_cast<double>(CeilDiv(output_channels_, chunk_));
  const bool plain = problem.output.dtype == numerics::DType::kFloat32 &&
                     problem.rule.input_rounding == numerics::InputRounding::kNone;
  const double pixel = transposes_                       ? kWorkATransposedElem
                       : dot_rate_ > 0                   ? kWorkAPairedElem
                       : !plain                          ? kWorkAConvertedElem
                       : row_panels(this->columns()) > 1 ? kWorkACopiedPixel
                                                         : 0;
  const double results = static_cast<double>(input_channels_ * g.input_size[0] * g.input_size[1] * g.input_size[2]);
  const double terms = dot_rate_ > 0 ? 2 / dot_rate_ * static_cast<double>(Terms(output_channels_)) : outputs;
  const double turned = taps_ == 1 ? WorkATurnedWeight(dot_rate_) : 0;  // stems take what their rate says
  work_ = vectors * columns * terms / kEfficiency + tiles * columns * outputs * turned +
          pixels * outputs * blocks * pixel +
          columns * (vectors * kWorkAnAddedVector + (rows + panels) * kWorkAnAddedRow) +
          vectors * columns * (chunks - 1) * kWorkATileVector +
          tiles * blocks * chunks * static_cast<double>(row_panels(this->columns())) * kWorkATileCall +
          results * (kWorkAStore + (g.stride[2] > 1 ? kWorkAnInterleave : 0) +
                     (problem.input_result.strides[4] != 1 ? kWorkAScatter : 0)) +
          static_cast<double>(pieces_.an_image()) * blocks * kWorkAJob;
  const bool far = input_channels_ * taps_ * output_channels_ > kNearWeights;
  const double weight = kWorkAPackedWeight + (far ? kWorkAFetchedWeight : 0);
  work_ = (work_ * static_cast<double>(g.batch) + columns * outputs * weight) * static_cast<double>(g.groups);
}

DataScratch DataStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  DataScratch scratch;
  int64_t panels = 1;
  for (int64_t i = 0; chunked() && at == nullptr && i < pieces_.an_image(); ++i) {
    int64_t count = 0;
    pieces_.ForEachRun(pieces_.At(i), [&](int64_t, int64_t pixels) { count += CeilDiv(pixels, panel_); });
    panels = std::max(panels, count);
  }
  scratch.pixels = carver.Take<float>(Terms(chunk_) * panel_);
  scratch.pixel_offsets = carver.Take<int64_t>(transposes_ ? chunk_ : 0);
  scratch.sums = carver.Take<float>(SumFloats());
  scratch.line = carver.Take<float>(row_floats_);
  scratch.sum_offsets = carver.Take<int64_t>(columns());
  scratch.result_offsets = carver.Take<int64_t>(kernels::GatherTiles::kMostRows);
  scratch.products = carver.Take<float>(panels * columns() * panel_);  // last: only the measuring walk knows its size
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string DataStep::Describe() const {
  const Extent3& part = pieces_.part();
  return "pieces of " + std::to_string(part[0]) + "x" + std::to_string(part[1]) + "x" + std::to_string(part[2]) +
         " input pixels, blocks of " + std::to_string(block_) + " input channels by " + std::to_string(taps_) +
         " taps, chunks of " + std::to_string(chunk_) + " output channels, tile " + std::to_string(rows()) + "x" +
         std::to_string(lanes()) + (dot_rate_ > 0 ? ", BF16 dot products" : "");
}

}  // namespace canopy::conv::columns
