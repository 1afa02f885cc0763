// SPDX-License-Identifier: Apache-2.0
#include "conv/pointwise/data_step.h"

#include <algorithm>
#include <numeric>

#include "base/checked_math.h"
#include "conv/bf16_dot.h"
#include "conv/packing/scratch.h"
#include "conv/streams.h"
#include "conv/work.h"
#include "exec/pool.h"
#include "kernels/streams.h"

namespace canopy::conv::pointwise {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kMostTerms = 256;  // of one tile call: FP32 sums stay short
constexpr int64_t kBlocks[] = {256, 128, 192, 512, 1024};
constexpr int64_t kCachedWeights = 256 * kMostTerms;  // of a block: 256 KiB of the L2
constexpr int64_t kResultFloats = 80 << 10;           // results of a job: 320 KiB of a 1 MiB L2
constexpr int64_t kPickedResultFloats = 128 << 10;    // of pixels that lie apart, so that fewer jobs pick them
constexpr int64_t kManyResults = 4;                   // channels for each source
constexpr int64_t kStreamedPanels = 8;                // of a job at least: a stretch of each channel's memory
constexpr int64_t kPixelFloats = 16 << 10;            // of a panel: 64 KiB of a 1 MiB L2
constexpr int64_t kNearPixelFloats = 8 << 10;         // with few weights: 32 KiB of a 48 KiB L1
constexpr int64_t kPickedPixelFloats = 32 << 10;      // of pixels that lie apart: many rows of a channel at a time
constexpr int64_t kFewWeights = 112 << 10;            // of a group: 448 KiB of a 1 MiB L2, beside all else
constexpr int64_t kLeastPixels = 96;
constexpr int64_t kTilesInPlace = 16;    // with more, weights that lie apart are read too often
constexpr int64_t kSmallPlane = 1024;    // pieces of less would leave much over
constexpr int64_t kMostJobsAThread = 8;  // are more than even
constexpr int64_t kLeastTiles = 2;       // of a piece that threads share
constexpr int64_t kMostPackedFloats = int64_t{17} << 17;

// In units of Step::Work.
constexpr double kEfficiency = 0.96;          // of the tiles, operands in the L2
constexpr double kWorkAPackedWeight = 1;      // transposing one element
constexpr double kWorkAStreamedWeight = 0.1;  // reading one that is not in the L2
constexpr double kWorkAFarWeight = 1.2;       // nor, most likely, in the L3
constexpr double kWorkAPackedPixel = 0.5;     // copying one element
constexpr double kWorkACopiedPixel = 0.4;     // likewise, on the way of a product
constexpr double kWorkAPairedPixel = 0.5;     // of 16 bits, for dot products
constexpr double kWorkAPickedPixel = 0.75;    // copying one that lies apart
constexpr double kWorkALonePixel = 8;         // likewise, with nothing between that is needed
constexpr double kWorkAConvertedElem = 1;     // converting or storing one element
constexpr double kWorkASpreadElem = 0.7;      // storing one element of a result with a stride
constexpr double kWorkARun = 6;               // copying what a tile has of one channel of one image
constexpr double kWorkATileVector = 2;        // adding to one vector of a result
constexpr double kWorkATileCall = 60;
constexpr double kWorkABlock = 700;  // of a group's result channels

constexpr double kUnevenness = 0.03;  // of a job: what a thread waits for another at the end

}  // namespace

DataStep::DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : forward_(computation == kForward),
      spread_(!forward_ && packing::HasStride(problem.geometry)),
      picked_(forward_ && packing::HasStride(problem.geometry)),
      input_(problem.geometry, forward_ ? problem.input : problem.input_result) {
  const ConvProblem product = ProductOf(problem);
  const Geometry& g = product.geometry;
  weight_ = packing::WeightView(product, forward_);
  source_ = packing::Flat(forward_ ? problem.input : problem.output);
  result_ = spread_ ? problem.input_result : packing::Flat(forward_ ? problem.output_result : problem.input_result);
  source_channels_ = forward_ ? g.group_input_channels() : g.group_output_channels();
  result_channels_ = forward_ ? g.group_output_channels() : g.group_input_channels();
  spread_seconds_ = spread_ && !problem.has_bias && numerics::ElementBytes(result_.dtype) == 2 &&
                    input_.bundle() == 1 && input_.column_stride() == 2;
  plane_ = g.output_size[0] * g.output_size[1] * g.output_size[2];
  streams_ = Streams(problem);
  result_row_ = g.input_size[2];
  // Pixels that lie apart are picked one channel at a time.
  if (!picked_) dot_rate_ = Bf16DotRate(source_.dtype, problem.weight.dtype, problem.rule);
  direct_ = !spread_ && !streams_ && result_.dtype == numerics::DType::kFloat32 && !problem.has_bias;
  const kernels::GatherTilesList list = dot_rate_ > 0 ? kernels::PairGatherTiles() : kernels::AllGatherTiles();
  tiles_ = list.tiles;
  vectors_ = std::max(std::min(2, list.count), list.WideAndHigh());
  const int64_t chunks = std::max<int64_t>(1, CeilDiv(Terms(source_channels_), kMostTerms));
  chunk_ = a_term() * std::max<int64_t>(1, CeilDiv(Terms(source_channels_), chunks));
  weights_in_place_ = problem.IsPlain(problem.weight) && dot_rate_ == 0 &&
                      weight_.runs == packing::WeightView::Runs::kResultChannels &&
                      g.batch * plane_ <= kTilesInPlace * lanes();
  few_weights_ = source_channels_ * result_channels_ <= kFewWeights && dot_rate_ == 0;
  const int64_t pixel_floats = picked_ ? kPickedPixelFloats : few_weights_ ? kNearPixelFloats : kPixelFloats;
  panel_ = lanes() * std::clamp<int64_t>(pixel_floats / (Terms(chunk_) * lanes()), 1, kMostTiles);
  const int64_t row = WholeRows(g);
  if (picked_ && row <= panel_) panel_ -= panel_ % row;
  cut_ = MakeCut(g, kBlocks[0]);
  for (const int64_t most_rows : kBlocks) {
    const Cut other = MakeCut(g, most_rows);
    if (other.work < cut_.work) cut_ = other;
  }
  ShareOut(g);
  if (cut_.packed_once) {
    const double work = kWorkAPackedWeight * static_cast<double>(g.groups * source_channels_ * result_channels_);
    weights_ = packing::CommonNumbers("packed weights", g.groups * cut_.blocks * CeilDiv(source_channels_, chunk_),
                                      PackedFloats(g), work / std::max(1.0, cut_.work), ledger);
  }
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

bool DataStep::Streams(const ConvProblem& problem) const {
  if (problem.has_bias || problem.rule.saturate || result_.dtype != numerics::DType::kFloat32) return false;
  const auto are_lines = [](int64_t elements) { return elements % kernels::kMemoryLineFloats == 0; };
  const bool lines = spread_ ? input_.bundle() == 1 && input_.column_stride() == 2
                             : are_lines(plane_) && are_lines(result_.strides[0]) && are_lines(result_.strides[1]);
  const bool whole_sums = spread_ || source_channels_ <= kMostTerms;
  if (!lines || !whole_sums) return false;
  if (OutgrowsCaches(problem, problem.computations)) return true;  // with what other steps read
  // Among more products, lines that are read first keep none of them waiting.
  return !spread_ && result_channels_ >= kManyResults * source_channels_ &&
         ResultPassesL3(problem, forward_ ? kForward : kBackwardData);
}

DataStep::Cut DataStep::MakeCut(const Geometry& g, int64_t most_rows) const {
  Cut cut;
  const int64_t bundle = spread_ ? input_.bundle() : 1, bundles = result_channels_ / bundle;
  const int64_t most_bundles = std::max<int64_t>(1, most_rows / bundle);
  cut.block = bundle * std::max<int64_t>(1, CeilDiv(bundles, std::max<int64_t>(1, CeilDiv(bundles, most_bundles))));
  cut.blocks = CeilDiv(result_channels_, cut.block);
  const int64_t vector = tiles_[0].lanes, most = MostPixels(cut.block);
  int64_t multiple = lanes();
  if (picked_ || keeps_no_results()) multiple = panel_;
  if (spread_ && WholeRows(g) <= most) multiple = WholeRows(g);
  const bool in_one_row = spread_ || plane_ < kSmallPlane || plane_ % vector != 0;
  cut.pieces = in_one_row ? packing::Pieces(1, g.batch * plane_, most, multiple)
                          : packing::Pieces(g.batch, plane_, most, multiple);
  cut.packed_once = PacksOnce(g, cut.pieces);
  cut.work = Estimate(g, cut, 1);
  return cut;
}

// The cut that this many threads finish first. It changes no bit, and the work that algorithms are compared by is that
// of the best cut for one thread: it must not depend on the threads.
void DataStep::ShareOut(const Geometry& g) {
  const int64_t threads = exec::ThreadCount(), bundle = spread_ ? input_.bundle() : 1;
  const int64_t bundles = result_channels_ / bundle;
  if (threads == 1 || cut_.work < kSerialWork || cut_.pieces.count() == 0) return;
  const Cut whole = cut_;
  double best = Time(g, whole);
  const int64_t multiple = picked_ || spread_ || keeps_no_results() ? whole.pieces.multiple : tiles_[0].lanes;
  for (int64_t blocks = whole.blocks; blocks < 2 * bundles; blocks *= 2) {
    const int64_t block = bundle * CeilDiv(bundles, blocks);
    Cut cut = whole;
    cut.block = block;
    cut.blocks = CeilDiv(result_channels_, block);
    const int64_t rows = g.groups * cut.blocks * whole.pieces.images;
    const int64_t even = threads / std::gcd(threads, rows);  // pieces that make as many jobs for each thread
    const int64_t most = MostPixels(block);
    for (int64_t count = RoundUp(CeilDiv(whole.pieces.plane, most), even);
         count == even || rows * count <= kMostJobsAThread * threads; count += even) {
      const int64_t pixels = RoundUp(CeilDiv(whole.pieces.plane, count), multiple);
      if (pixels < kLeastTiles * lanes()) break;
      cut.pieces = {whole.pieces.images, whole.pieces.plane, pixels, multiple};
      cut.packed_once = PacksOnce(g, cut.pieces);
      if (const double time = Time(g, cut); time < best) {
        best = time;
        cut_ = cut;
      }
    }
  }
}

// Until the last of the threads is done, which pack the weights of all jobs each for itself.
double DataStep::Time(const Geometry& g, const Cut& cut) const {
  const int64_t threads = exec::ThreadCount(), planes = g.groups * cut.blocks * cut.pieces.images;
  const int64_t piece = cut.pieces.pixels, last = cut.pieces.size(cut.pieces.a_plane - 1);
  // Jobs of a whole piece come first; those that are left go to the threads that have one less.
  const int64_t jobs = planes * (cut.pieces.a_plane - 1), each = jobs / threads, more = jobs % threads;
  const int64_t longest =
      std::max(CeilDiv(jobs, threads) * piece, each * piece + CeilDiv(planes, threads - more) * last);
  return Estimate(g, cut, threads) * (static_cast<double>(longest) + kUnevenness * static_cast<double>(piece)) /
         static_cast<double>(planes * cut.pieces.plane);
}

// Of a job.
int64_t DataStep::MostPixels(int64_t block) const {
  const int64_t least = keeps_no_results() ? kStreamedPanels * panel_ : kLeastPixels;
  return std::max(least, (picked_ ? kPickedResultFloats : kResultFloats) / block);
}

// The fewest rows of the output that fill vectors, in pixels.
int64_t DataStep::WholeRows(const Geometry& g) const {
  return std::lcm(std::max<int64_t>(1, g.output_size[2]), tiles_[0].lanes);
}

int64_t DataStep::PackedFloats(const Geometry& g) const {
  return g.groups * result_channels_ * Terms(source_channels_);
}

bool DataStep::PacksOnce(const Geometry& g, const packing::Pieces& pieces) const {
  return pieces.count() > 1 && !weights_in_place_ && PackedFloats(g) <= kMostPackedFloats;
}

double DataStep::Estimate(const Geometry& g, const Cut& cut, int64_t packers) const {
  const int64_t vector = tiles_[0].lanes;
  const packing::Pieces& pieces = cut.pieces;
  const int64_t last = pieces.plane - std::max<int64_t>(0, pieces.a_plane - 1) * pieces.pixels;
  const double lanes =
      static_cast<double>(pieces.images * (std::max<int64_t>(0, pieces.a_plane - 1) * RoundUp(pieces.pixels, vector) +
                                           RoundUp(last, vector)));
  const double blocks = static_cast<double>(cut.blocks), rows = static_cast<double>(cut.block),
               vectors = lanes / kWorkLanes;
  const double sources = static_cast<double>(source_channels_);
  const double products = dot_rate_ > 0 ? 2 / dot_rate_ * static_cast<double>(Terms(source_channels_)) : sources;
  const double chunks = static_cast<double>(CeilDiv(source_channels_, chunk_));
  const double readings = static_cast<double>(pieces.count());
  const double packings = cut.packed_once ? static_cast<double>(packers) : readings;
  const double tiles =
      static_cast<double>(pieces.count() * CeilDiv(pieces.pixels, this->lanes()) * CeilDiv(cut.block, this->rows()));
  const bool plain = source_.dtype == numerics::DType::kFloat32;
  const double picked = input_.bundle() > 1 ? kWorkAPickedPixel : kWorkALonePixel;
  const double copied = splits() ? kWorkACopiedPixel : kWorkAPackedPixel;
  const double fetched = dot_rate_ > 0 ? kWorkAPairedPixel : plain ? copied : kWorkAConvertedElem;
  const double pixel = picked_ ? picked : fetched;
  const double reached = rows * static_cast<double>(g.batch * plane_ * input_.column_stride() / input_.bundle());
  const double stored = spread_               ? reached * kWorkASpreadElem
                        : direct_ || streams_ ? 0
                                              : rows * lanes * kWorkAConvertedElem;
  const bool in_runs = !splits() && plane_ < this->lanes();
  const double runs =
      !in_runs ? 0 : static_cast<double>(g.batch) * ((spread_ ? 0 : rows) + (picked_ ? 0 : sources)) * kWorkARun;
  const bool far = source_channels_ * result_channels_ > kNearWeights;
  const double packed = (weights_in_place_ ? 0 : kWorkAPackedWeight) + (far ? kWorkAFetchedWeight : 0);
  const double streamed = far && pieces.count() > 1                              ? kWorkAFarWeight
                          : cut.block * Terms(source_channels_) > kCachedWeights ? kWorkAStreamedWeight
                                                                                 : 0;
  const double turned = lanes / static_cast<double>(this->lanes()) * WorkATurnedWeight(dot_rate_);
  return static_cast<double>(g.groups) * blocks *
         (rows * (products * vectors / kEfficiency + sources * turned) +
          rows * sources * (packings * packed + readings * streamed) + lanes * sources * pixel +
          rows * vectors * chunks * kWorkATileVector + tiles * chunks * kWorkATileCall + stored + runs + kWorkABlock);
}

DataScratch DataStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  DataScratch scratch;
  const bool ready = weights_.exist() || weights_in_place_;
  scratch.weights = carver.Take<float>(ready ? 0 : cut_.block * Terms(chunk_));
  scratch.pixels = carver.Take<float>(panel_ * Terms(chunk_));
  scratch.results = carver.Take<float>(held_lanes() * cut_.block);
  scratch.line = carver.Take<float>(spread_ ? result_row_ + kernels::kLineSlack : 0);
  scratch.lines.lines = carver.Take<float>(packing::kLines * (packing::kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(packing::kLine);
  scratch.weight_offsets = carver.Take<int64_t>(chunk_);
  scratch.result_offsets = carver.Take<int64_t>(kernels::GatherTiles::kMostRows);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string DataStep::Describe() const {
  return "pieces of " + std::to_string(cut_.pieces.pixels) + " pixels, blocks of " + std::to_string(cut_.block) +
         " result channels, chunks of " + std::to_string(chunk_) + " source channels, tile " + std::to_string(rows()) +
         "x" + std::to_string(lanes()) + (weights_.exist() ? ", weights packed once" : "") +
         (streams_ ? ", results past the caches" : "") + (dot_rate_ > 0 ? ", BF16 dot products" : "");
}

}  // namespace canopy::conv::pointwise
