// SPDX-License-Identifier: Apache-2.0
#include "conv/pointwise/weights_step.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/checked_math.h"
#include "conv/bf16_dot.h"
#include "conv/packing/cache_sets.h"
#include "conv/packing/scratch.h"
#include "conv/tensor_bytes.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::pointwise {
namespace {

using base::CeilDiv;

constexpr int64_t kPieceTerms = 256;
constexpr int64_t kLeastRows = 512;  // with kLeastLanes: 256 KiB of sums
constexpr int64_t kMostRows = 1024;
constexpr int64_t kLeastLanes = 128;
constexpr int64_t kMostLanes = 256;
constexpr int64_t kMostSums = 512 * 256;  // half of an L2
// Where rows are copied, larger blocks copy them less often.
constexpr int64_t kMostLanesOfCopies = 512;
constexpr int64_t kMostSumsOfCopies = 1024 * 256;  // they then come from the L3
constexpr int64_t kWidths[] = {3, 4, 5};           // vectors of a panel
constexpr int64_t kShortWidths[] = {2};            // short ones: its pixels leave half of an L1 to rows
constexpr int64_t kScratchBytes = int64_t{2} << 20;
constexpr int64_t kEnoughJobs = 16;
constexpr int64_t kSegmentPixels = 64;  // of a segment for every job: adding up partial sums costs little beside

// In units of Step::Work.
constexpr double kWorkAProduct = 0.9;      // of vectors, beside
constexpr double kWorkALoad = 0.33;        // which the product of long vectors waits for
constexpr double kWorkARow = 0.3;          // reading one element of a row again
constexpr double kWorkASlabElem = 1.1;     // transposing one element
constexpr double kWorkACrowdedElem = 0.7;  // more where planes share few places of a cache
constexpr double kWorkAPairedElem = 0.6;   // likewise, with its neighbour
constexpr double kWorkAStride = 1;         // more where elements lie apart
constexpr double kWorkAConvertedElem = 1;
constexpr double kWorkACopiedElem = 0.1;  // pairs; most can be read in place
constexpr double kWorkAStore = 1.5;       // transposing one result
constexpr double kWorkARowStore = 0.8;    // storing one whose neighbours are a row's
constexpr double kWorkAPartial = 0.2;     // clearing and adding one partial result
constexpr double kWorkATileVector = 2;    // adding to one vector of a result
constexpr double kWorkAFarVector = 3;     // that is not in the L2
constexpr double kWorkATileCall = 60;
constexpr double kWorkABiasElem = 0.4;  // summing one: pays where a pass of its own would read memory again

constexpr int64_t kLeastSharedRows = 128;  // where jobs are too few for the threads
constexpr int64_t kManyJobsAThread = 16;
constexpr double kWorthwhile = 0.955;  // another cut for the threads' sake takes so much of the time at most

constexpr double kUnevenness = 0.25;  // of a job: what a thread, if there are several, waits for another at the end

std::span<const int64_t> Widths() { return ShortVectors() ? std::span<const int64_t>(kShortWidths) : kWidths; }

}  // namespace

WeightsStep::WeightsStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : bias_(computation != kBackwardWeights),
      bias_from_output_((computation & kBiasFromOutput) != 0),
      dot_rate_(Bf16DotRate(problem.input.dtype, problem.output.dtype, problem.rule)),
      unfolded_(packing::HasStride(problem.geometry)),
      input_(problem.geometry, problem.input) {
  const Geometry g = ProductOf(problem).geometry;
  input_channels_ = g.group_input_channels();
  most_partial_bytes_ = MostPartialBytes(problem, kScratchBytes);
  output_channels_ = g.group_output_channels();
  rows_in_place_ = problem.MultipliesPlain();
  const int64_t plane = g.output_size[0] * g.output_size[1] * g.output_size[2];
  const int64_t most = kPieceTerms * a_term();
  batch_ = g.batch;
  images_ = plane == 0 ? 1 : std::clamp<int64_t>(most / plane, 1, std::max<int64_t>(1, g.batch));
  const bool whole_rows = unfolded_ && g.output_size[2] > 0 && g.output_size[2] * a_term() <= most;
  pieces_ = {CeilDiv(g.batch, images_), plane, most, whole_rows ? g.output_size[2] * a_term() : 16};
  cut_ = ChooseCut(g);
  ShareOut(g);
  const Operand& rows = cut_.outputs_are_lanes ? problem.input : problem.output;
  crowded_ = rows_in_place_ && images_ == 1 &&
             packing::CrowdASet(kernels::GatherTiles::kMostRows, packing::Flat(rows).strides[1]);
  if (cut_.segments > 1) {
    partial_handle_ =
        ledger->Book("partial weight gradients",
                     cut_.jobs(g.groups) * cut_.segments * cut_.tiles_floats() * static_cast<int64_t>(sizeof(float)));
  }
  if (bias_) {
    const int64_t channels = bias_from_output_ ? g.output_channels : g.input_channels;
    bias_handle_ =
        ledger->Book("partial bias gradients", cut_.segments * channels * static_cast<int64_t>(sizeof(double)));
    bias_work_ = kWorkABiasElem * static_cast<double>(g.batch * plane * channels);
  }
  if (pieces_.count() == 1 && cut_.blocks > 1) {
    const int64_t parts = g.groups * cut_.panels.blocks(), floats = parts * SlabFloats();
    lanes_ = packing::CommonNumbers("transposed channels", parts, floats,
                                    LaneWork() * static_cast<double>(floats) / std::max(1.0, cut_.work), ledger);
  }
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
}

double WeightsStep::WithWaiting(const Cut& cut, int64_t groups) {
  const double jobs = static_cast<double>(std::max<int64_t>(1, cut.jobs(groups) * cut.segments));
  return cut.work < kSerialWork ? cut.work : cut.work * (1 + kUnevenness / jobs);
}

template <class Visit>
void WeightsStep::ForCuts(const Geometry& g, int64_t least_rows, const Visit& visit) const {
  const int64_t most_of_all = rows_in_place_ ? kMostLanes : kMostLanesOfCopies;
  const int64_t most_sums = rows_in_place_ ? kMostSums : kMostSumsOfCopies;
  for (const bool outputs_are_lanes : {false, true}) {
    if (outputs_are_lanes && unfolded_) continue;
    for (const int64_t wide : Widths()) {
      for (int64_t most_rows = least_rows; most_rows <= kMostRows; most_rows *= 2) {
        for (int64_t most_lanes = kLeastLanes; most_lanes <= most_of_all; most_lanes *= 2) {
          if (most_rows * most_lanes <= most_sums) visit(MakeCut(g, outputs_are_lanes, most_rows, {most_lanes, wide}));
        }
      }
    }
  }
}

WeightsStep::Cut WeightsStep::ChooseCut(const Geometry& g) const {
  Cut best;
  ForCuts(g, kLeastRows, [&](const Cut& other) {
    if (best.blocks == 0 || WithWaiting(other, g.groups) < WithWaiting(best, g.groups)) best = other;
  });
  return best;
}

// The cut of the same sums that this many threads finish first. The work that algorithms are compared by stays that of
// the best cut: it must not depend on the threads.
void WeightsStep::ShareOut(const Geometry& g) {
  const Cut whole = cut_;
  if (exec::ThreadCount() == 1 || whole.work < kSerialWork || pieces_.count() == 0) return;
  double best = Time(whole, g.groups) * kWorthwhile;
  if (best <= whole.work / static_cast<double>(exec::ThreadCount())) return;  // even enough
  ForCuts(g, kLeastSharedRows, [&](const Cut& other) {
    if (other.segments != whole.segments || other.segment_pieces != whole.segment_pieces) return;
    if (bias_ && other.outputs_are_lanes != whole.outputs_are_lanes) return;  // biases would be other sums
    if (const double time = Time(other, g.groups); time < best) {
      best = time;
      cut_ = other;
    }
  });
  cut_.work = whole.work;
}

double WeightsStep::Time(const Cut& cut, int64_t groups) const {
  const int64_t threads = exec::ThreadCount(), blocks = cut.jobs(groups), jobs = blocks * cut.segments;
  if (jobs > kManyJobsAThread * threads) return cut.work / static_cast<double>(threads);
  // Whoever is first done takes the next, in the order of WeightsRun.
  std::vector<int64_t> busy(static_cast<size_t>(threads), 0);
  const bool by_segments = BySegments(cut);
  int64_t all = 0;
  for (int64_t job = 0; job < jobs; ++job) {
    const int64_t size =
        by_segments ? SizeOf(cut, job % blocks, job / blocks) : SizeOf(cut, job / cut.segments, job % cut.segments);
    *std::min_element(busy.begin(), busy.end()) += size;
    all += size;
  }
  return cut.work * static_cast<double>(*std::max_element(busy.begin(), busy.end())) / static_cast<double>(all);
}

int64_t WeightsStep::SizeOf(const Cut& cut, int64_t block, int64_t segment) const {
  const int64_t lane_blocks = cut.panels.blocks(), first = block / lane_blocks % cut.blocks * cut.block;
  const int64_t rows = std::min(cut.block, cut.row_channels - first);
  const int64_t lanes = base::RoundUp(cut.panels.channels(block % lane_blocks), int64_t{cut.panels.vector_lanes()});
  // Images where a piece is several, else pieces.
  const int64_t all = images_ > 1 ? batch_ : pieces_.count(), most = cut.segment_pieces * images_;
  return rows * lanes * std::min(most, all - segment * most);
}

bool WeightsStep::BySegments(const Cut& cut) const {
  const int64_t lane_channels = cut.outputs_are_lanes ? output_channels_ : input_channels_;
  return lane_channels % cut.panels.block_lanes() != 0 && cut.segments % exec::ThreadCount() == 0 &&
         pieces_.count() == cut.segments * cut.segment_pieces;
}

WeightsStep::Cut WeightsStep::MakeCut(const Geometry& g, bool outputs_are_lanes, int64_t most_rows,
                                      const LaneSizes& lanes) const {
  Cut cut;
  cut.outputs_are_lanes = outputs_are_lanes;
  cut.panels = packing::LanePanels(outputs_are_lanes ? output_channels_ : input_channels_, lanes.most,
                                   dot_rate_ > 0 ? kernels::PairGatherTiles() : kernels::AllGatherTiles(), lanes.wide);
  cut.row_channels = outputs_are_lanes ? input_channels_ : output_channels_;
  cut.block =
      std::max<int64_t>(1, CeilDiv(cut.row_channels, std::max<int64_t>(1, CeilDiv(cut.row_channels, most_rows))));
  cut.blocks = CeilDiv(cut.row_channels, cut.block);
  const int64_t jobs = std::max<int64_t>(1, cut.jobs(g.groups)), pieces = pieces_.count();
  const int64_t affordable =
      most_partial_bytes_ / std::max<int64_t>(1, jobs * cut.tiles_floats() * static_cast<int64_t>(sizeof(float)));
  // The more jobs there are, the less is won by further ones.
  const double worthwhile = std::sqrt(static_cast<double>(pieces_.plane * g.batch / (kSegmentPixels * jobs)));
  const int64_t most_segments = std::min({pieces, affordable, static_cast<int64_t>(worthwhile)});
  cut.segments = std::clamp<int64_t>(CeilDiv(kEnoughJobs, jobs), 1, std::max<int64_t>(1, most_segments));
  cut.segment_pieces = std::max<int64_t>(1, CeilDiv(pieces, cut.segments));
  cut.segments = std::max<int64_t>(1, CeilDiv(pieces, cut.segment_pieces));

  const double pixels = static_cast<double>(g.batch * pieces_.plane);
  const bool crowded = images_ == 1 && packing::CrowdASet(cut.panels.most_rows(), pieces_.plane);
  const double copied = rows_in_place_  ? (crowded ? kWorkACrowdedElem : 0)
                        : dot_rate_ > 0 ? kWorkACopiedElem
                                        : kWorkAConvertedElem;
  const double rows = static_cast<double>(cut.row_channels), vectors = cut.panels.work();
  const double vector = cut.tiles_floats() > kLeastRows * kLeastLanes ? kWorkAFarVector : kWorkATileVector;
  const double store = outputs_are_lanes ? kWorkAStore : kWorkARowStore;
  const double blocks = static_cast<double>(cut.blocks), lane_blocks = static_cast<double>(cut.panels.blocks());
  const double copies = lane_blocks + (cut.panels.narrow() ? 1 : 0);  // of a row
  const double calls = static_cast<double>(pieces) * (rows / cut.panels.most_rows() + 0.5 * blocks) * vectors *
                       kWorkLanes / static_cast<double>(cut.panels.panel_lanes());
  const double products =
      dot_rate_ > 0 ? 2 / dot_rate_ * static_cast<double>(g.batch * pieces_.a_plane * Terms(pieces_.pixels)) : pixels;
  const double waits = ShortVectors() ? 0 : cut.panels.LoadWorkOfARow() * kWorkALoad;
  cut.work = products * rows * (vectors * kWorkAProduct + waits) +
             pixels * vectors * kWorkLanes * (pieces > 1 ? blocks : 1) * LaneWork() +
             pixels * rows * (copies * copied + (lane_blocks - 1) * kWorkARow) + calls * kWorkATileCall +
             static_cast<double>(pieces) * rows * vectors * vector +
             rows * vectors * kWorkLanes * (store + static_cast<double>(cut.segments - 1) * kWorkAPartial);
  cut.work *= static_cast<double>(g.groups);
  return cut;
}

double WeightsStep::LaneWork() const {
  return (dot_rate_ > 0 ? kWorkAPairedElem : kWorkASlabElem) +
         (packing::CrowdASet(packing::kLines, pieces_.plane) ? kWorkACrowdedElem : 0) + (unfolded_ ? kWorkAStride : 0);
}

WeightsScratch WeightsStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  WeightsScratch scratch;
  scratch.lanes = carver.Take<float>(lanes_.exist() ? 0 : SlabFloats());
  scratch.rows =
      carver.Take<float>(rows_in_place_ && !crowded_ ? 0 : kernels::GatherTiles::kMostRows * copied_stride());
  scratch.sums = carver.Take<float>(cut_.segments > 1 ? 0 : cut_.tiles_floats());
  scratch.tiles = carver.Take<float>(cut_.tiles_floats());
  scratch.lines.lines = carver.Take<float>(packing::kLines * (packing::kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(packing::kLine);
  scratch.row_offsets = carver.Take<int64_t>(kernels::GatherTiles::kMostRows);
  scratch.result_offsets = carver.Take<int64_t>(kernels::GatherTiles::kMostRows);
  scratch.runs = carver.Take<kernels::GatherRun>(images_);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string WeightsStep::Describe() const {
  return "pieces of " + std::to_string(images_) + "x" + std::to_string(pieces_.pixels) + " pixels, blocks of " +
         std::to_string(cut_.block) + (cut_.outputs_are_lanes ? " input by " : " output by ") +
         std::to_string(cut_.panels.block_lanes()) + (cut_.outputs_are_lanes ? " output" : " input") +
         " channels, the latter as lanes, " + std::to_string(cut_.segments) + " segments" +
         (dot_rate_ > 0 ? ", BF16 dot products of pairs of pixels" : "");
}

}  // namespace canopy::conv::pointwise
