// SPDX-License-Identifier: Apache-2.0
#include "conv/pixel_lanes/weights_step.h"

#include <algorithm>
#include <atomic>

#include "base/checked_math.h"
#include "conv/bf16_dot.h"
#include "conv/sheets/sheet.h"
#include "conv/streams.h"
#include "conv/work.h"
#include "exec/pool.h"
#include "kernels/dots/contract.h"

namespace canopy::conv::pixel_lanes {
namespace {

constexpr int64_t kEnoughJobs = 32;      // shares out evenly over a few threads
constexpr int64_t kSheetFloats = 10240;  // of a group's sheets: most of a first-level cache
constexpr int64_t kMostVectors = 256;    // of a sum before a second level
constexpr int64_t kMostItems = 256;      // of a segment: a third
constexpr int64_t kPieceBytes = 1024;

// In vector multiply-adds at the peak rate, measured.
// Those of pairs are counted beside half as many products.
constexpr double kLoadWork = 6, kLoadPairsWork = 12;     // of a vector
constexpr double kFarWork = 6, kFarPairsWork = 12;       // more from memory
constexpr double kSplitWork = 20, kSplitPairsWork = 60;  // where it is split
constexpr double kPieceWork = 16;                        // more where pieces of planes are short: they come from memory
constexpr double kConversionWork = 4;                    // more where elements are not plain FP32
constexpr double kRowWork = 12;                          // of a row's way, besides
constexpr double kPlaneWork = 90;                        // of a plane's
constexpr double kTileWork = 20;
constexpr double kSumWork = 2;     // of a tile's sum that is added to memory
constexpr double kFarSumWork = 3;  // more, of pairs, where sums leave the L1
constexpr int64_t kNearSumFloats = 8 << 10;
constexpr double kReduceWork = 8;  // of a sum's lanes
constexpr double kBiasWork = 1;    // of a vector of a sheet
constexpr double kOverhead = 1.12;
constexpr double kShortOverhead = 1.3;  // of short vectors: tiles of few sums read the sheets more often

}  // namespace

WeightTaps::WeightTaps(const Geometry& g, int axis) : size(g.input_size[axis]), stride(g.stride[axis]) {
  for (int64_t k = 0; k < g.kernel[axis]; ++k) {
    const int64_t at = k * g.dilation[axis] - g.pad_begin[axis];  // of the input under output 0
    const int64_t residue = ((at % stride) + stride) % stride, shift = (at - residue) / stride;
    taps.push_back({residue, shift});
    least = std::min(least, shift);
    greatest = std::max(greatest, shift);
  }
  pitch = std::max(g.output_size[axis] + greatest, Count(0) - least);
}

WeightsStep::WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : bias_((computation & kBiasFromOutput) != 0),
      rows_(problem.geometry, 1),
      columns_(problem.geometry, 2),
      dot_rate_(Bf16VectorDotRate(problem.input.dtype, problem.output.dtype, problem.rule)),
      lanes_(kernels::Dots().lanes) {
  const Geometry& g = problem.geometry;
  sources_ = g.group_input_channels();
  results_ = g.group_output_channels();
  output_columns_ = g.output_size[2];
  Cut(g);
  ShareOut(g);
  ListOffsets();
  ListTiles(g.taps());
  const int64_t floats = static_cast<int64_t>(sizeof(float));
  const int64_t sums = sources_ * g.taps() + (bias_ ? 1 : 0);
  partial_handle_ = ledger->Book("weight gradients", segments_ * g.output_channels * sums * floats);
  flag_handle_ = ledger->Book("flag", static_cast<int64_t>(sizeof(std::atomic<int>)));
  const int64_t elements = results_ * output_elements_ + sources_ * ResidueSheets() * input_elements_;
  const int64_t thread_floats = elements / (pairs() ? 2 : 1) + sums_floats_ + line_floats_ + results_;
  scratch_handle_ = ledger->BookEach("sheets", thread_floats * floats, exec::ThreadCount());
  work_ = CountWork(problem);
}

// Images or rows as many as the cache and the first level of sums have room for.
void WeightsStep::Cut(const Geometry& g) {
  image_pitch_ = rows_.pitch * columns_.pitch;
  const int64_t channels = results_ + sources_ * ResidueSheets();
  const int64_t most = std::min(kSheetFloats * (pairs() ? 2 : 1) / channels, kMostVectors * vector_positions());
  images_ = std::clamp<int64_t>(most / image_pitch_, 1, g.batch);
  image_blocks_ = base::CeilDiv(g.batch, images_);
  images_ = base::CeilDiv(g.batch, image_blocks_);
  band_ = std::clamp<int64_t>(most / columns_.pitch, 1, g.output_size[1]);
  if (images_ > 1) band_ = g.output_size[1];
  bands_ = base::CeilDiv(g.output_size[1], band_);
  band_ = base::CeilDiv(g.output_size[1], bands_);
  const int64_t rows = images_ > 1 ? images_ * rows_.pitch : band_;
  left_ = -columns_.least;
  const int64_t vector = vector_positions();
  output_elements_ = base::RoundUp(rows * columns_.pitch, vector) + 2 * vector;
  input_elements_ = left_ + (rows + rows_.greatest - rows_.least) * columns_.pitch + columns_.greatest + 3 * vector;
  // An odd number of cache lines keeps channels apart in the first-level cache.
  for (int64_t* sheet : {&output_elements_, &input_elements_})
    *sheet = base::RoundUp(*sheet, 2 * LineElements()) + LineElements();
}

void WeightsStep::ShareOut(const Geometry& g) {
  items_ = image_blocks_ * bands_ * g.output_size[0];
  segments_ = std::clamp<int64_t>(std::max(kEnoughJobs / g.groups, base::CeilDiv(items_, kMostItems)), 1, items_);
  segments_ = base::CeilDiv(items_, base::CeilDiv(items_, segments_));
  sums_floats_ = results_ * sources_ * g.taps() * lanes_;
  line_floats_ = base::RoundUp(sheets::LineFloats(std::max(g.input_size[2], g.output_size[2])), lanes_);
}

void WeightsStep::ListOffsets() {
  for (int64_t c = 0; c < sources_; ++c) {
    for (const WeightTaps::Tap& h : rows_.taps) {
      for (const WeightTaps::Tap& w : columns_.taps) {
        const int64_t sheet = (c * rows_.stride + h.residue) * columns_.stride + w.residue;
        offsets_.push_back(sheet * input_elements_ + left_ + (h.shift - rows_.least) * columns_.pitch + w.shift);
      }
    }
  }
}

void WeightsStep::ListTiles(int64_t taps) {
  const auto most_columns = [this](int64_t rows) {
    return pairs() ? kernels::PairDots().most_columns[rows] : kernels::Dots().most_columns[rows];
  };
  const int64_t most = kernels::Dots().most_rows();
  const int64_t row_tiles = base::CeilDiv(results_, most);
  const int64_t all = sources_ * taps, columns_most = most_columns(base::CeilDiv(results_, row_tiles));
  const int64_t column_tiles = base::CeilDiv(all, columns_most), count = row_tiles * column_tiles;
  const auto share = [&](int64_t tile, int64_t planes) {
    const int64_t plane = tile * planes / count, first = base::CeilDiv(plane * count, planes);
    return WeightTile::Share{plane, tile - first,
                             std::max<int64_t>(1, base::CeilDiv((plane + 1) * count, planes) - first)};
  };
  for (int64_t i = 0; i < row_tiles; ++i) {
    for (int64_t j = 0; j < column_tiles; ++j) {
      const int64_t row = i * results_ / row_tiles, rows = (i + 1) * results_ / row_tiles - row;
      const int64_t column = j * all / column_tiles, columns = (j + 1) * all / column_tiles - column;
      const int64_t tile = i * column_tiles + j;
      tiles_.push_back({row, column, rows, columns, {share(tile, results_), share(tile, sources_)}});
    }
  }
}

double WeightsStep::CountWork(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const bool far = OutgrowsCaches(problem, kBackwardWeights);
  const auto copies = [&](const Operand& operand, const Extent3& size, int64_t rows, int64_t channels, double vector) {
    const int64_t row_bytes = size[2] * numerics::ElementBytes(operand.dtype);
    if (bands_ > 1 && band_ * row_bytes < kPieceBytes) vector += kPieceWork;
    if (far) vector += pairs() ? kFarPairsWork : kFarWork;
    const numerics::DType plain = pairs() ? numerics::DType::kBFloat16 : numerics::DType::kFloat32;
    if (operand.dtype != plain || problem.rule != numerics::NumericRule{}) vector += kConversionWork;
    const double row = kRowWork + static_cast<double>(size[2]) / static_cast<double>(vector_positions()) * vector;
    return static_cast<double>(g.batch * size[0] * channels) * (kPlaneWork + static_cast<double>(rows) * row);
  };
  // Bands share input rows, which each of them copies.
  const int64_t shared = (bands_ - 1) * (rows_.greatest - rows_.least) * rows_.stride;
  const double load = pairs() ? kLoadPairsWork : kLoadWork, split = pairs() ? kSplitPairsWork : kSplitWork;
  const double sum_work = kSumWork + (pairs() && sums_floats_ > kNearSumFloats ? kFarSumWork : 0);
  double work =
      copies(problem.output, g.output_size, g.output_size[1], results_, load) +
      copies(problem.input, g.input_size, g.input_size[1] + shared, sources_, columns_.stride == 1 ? load : split);
  const int64_t positions = Positions(images_, images_ > 1 ? g.output_size[1] : band_);
  const double vectors = static_cast<double>(base::CeilDiv(positions, vector_positions()));
  const double tiles = static_cast<double>(tiles_.size());
  const double sums = static_cast<double>(results_ * sources_ * g.taps());
  // A load takes as long as a multiply-add, an unaligned one as two.
  const double rows = static_cast<double>(std::min<int64_t>(results_, kernels::kMostDotsRows));
  const double loads = tiles * rows + 2.0 * sums / rows;
  work +=
      static_cast<double>(items_) * (vectors * std::max({pairs() ? sums * 2 / dot_rate_ : sums, loads, 8.0 * tiles}) +
                                     kTileWork * tiles + sum_work * sums);
  work += static_cast<double>(segments_) * kReduceWork * sums;
  if (bias_) work += static_cast<double>(items_ * results_) * (vectors * kBiasWork + kTileWork);
  return (ShortVectors() ? kShortOverhead : kOverhead) * work * static_cast<double>(g.groups * lanes_) / kWorkLanes;
}

std::string WeightsStep::Describe() const {
  return "sheets of " + std::to_string(images_) + " images by " + std::to_string(band_) + " rows, " +
         std::to_string(tiles_.size()) + " tiles, " + std::to_string(segments_) + " segments" +
         (pairs() ? ", BF16 dot products of pairs of pixels" : "");
}

}  // namespace canopy::conv::pixel_lanes
