// SPDX-License-Identifier: Apache-2.0
#include "conv/pixel_lanes/data_step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/checked_math.h"
#include "conv/bf16_dot.h"
#include "conv/packing/scratch.h"
#include "conv/sheets/sheet.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::pixel_lanes {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kMostChunk = 16;           // source channels: the sum of a tile call stays short, slabs may be tall
constexpr int64_t kSlabFloats = 64 << 10;    // 256 KiB of a 1 MiB L2
constexpr int64_t kResultFloats = 64 << 10;  // likewise
constexpr int64_t kMostColumns = 1024;
constexpr int64_t kEnoughJobs = 16;

// In units of Step::Work.
// Of low tiles: most vectors cross a cache line, which few rows do not make up for.
constexpr double kEfficiencyOfFew = 0.5;  // 2 or 3 rows
constexpr double kEfficiencyOfOne = 0.35;
constexpr double kShortEfficiency = 0.87, kShortEfficiencyOfOne = 0.2;  // likewise of short vectors
constexpr double kPairEfficiency = 0.8;
constexpr double kWorkAPlane = 50;      // of a channel in a slab, or in a phase of the results, besides
constexpr double kWorkASlabElem = 0.5;  // copying one element
constexpr double kWorkASlabPair = 1;
constexpr double kWorkASlabRow = 10;
constexpr double kWorkAWait = 0.5;        // more where it has to be waited for
constexpr double kWorkASlabStride = 1.5;  // more where an element has no neighbour beside it
constexpr double kWorkAPackedWeight = 2, kWorkAPairedWeight = 8;
constexpr double kWorkAStore = 0.5;  // storing one element
constexpr double kWorkAPairedStore = 0.8;
constexpr double kWorkAStoredRow = 10;
constexpr double kWorkAConversion = 0.3;  // more where elements are not plain FP32
constexpr double kWorkAStride = 3;        // more where it has no neighbour beside it
constexpr double kWorkATileVector = 2;    // adding to one vector of a result
constexpr double kWorkATileCall = 60;

// The rate of dot products of pairs of channels; 0 where multiply-adds serve better. A matrix unit would rather have
// more rows than there are.
double PairRate(const ConvProblem& problem, const Operand& source) {
  const double rate = Bf16DotRate(source.dtype, problem.weight.dtype, problem.rule);
  return source.strides[4] == 1 && !ByMatrixUnit(rate) ? rate : 0;
}

// The phases of one axis and the residues that no tap reaches.
std::vector<AxisPhase> WholeAxis(const Geometry& g, int axis, bool forward) {
  if (forward) return ForwardPhases(g, axis);
  bool gaps = false;
  std::vector<AxisPhase> phases = BackwardDataPhases(g, axis, &gaps);
  const size_t reached = phases.size();
  for (int64_t residue = 0; gaps && residue < std::min(g.stride[axis], g.input_size[axis]); ++residue) {
    const auto end = phases.begin() + static_cast<ptrdiff_t>(reached);
    if (std::any_of(phases.begin(), end, [&](const AxisPhase& phase) { return phase.result_shift == residue; }))
      continue;
    AxisPhase phase;
    phase.walk = CeilDiv(g.input_size[axis] - residue, g.stride[axis]);
    phase.result_step = g.stride[axis];
    phase.result_shift = residue;
    phases.push_back(phase);
  }
  return phases;
}

}  // namespace

DataStep::DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : forward_(computation == kForward), weight_(problem, computation == kForward) {
  const Geometry& g = problem.geometry;
  source_ = forward_ ? problem.input : problem.output;
  result_ = forward_ ? problem.output_result : problem.input_result;
  source_size_ = forward_ ? g.input_size : g.output_size;
  result_size_ = forward_ ? g.output_size : g.input_size;
  source_channels_ = forward_ ? g.group_input_channels() : g.group_output_channels();
  result_channels_ = forward_ ? g.group_output_channels() : g.group_input_channels();
  dot_rate_ = PairRate(problem, source_);
  tiles_ = dot_rate_ > 0 ? kernels::PairGatherTiles() : kernels::AllGatherTiles();
  const Extent3& steps = weight_.tap_strides;
  const bool even = steps[1] == g.kernel[2] * steps[2] && steps[0] == g.kernel[1] * steps[1];
  weight_run_ = even ? g.taps() : g.kernel[2];
  MakePhases(g);
  Cut();
  ShareOut(g);
  ListTaps(g);
  ChooseProducts();
  // Whole vectors are read past the last position; an odd number of cache lines from channel to channel keeps channels
  // apart in the L1's sets.
  const int64_t widest = tiles_.tiles[tiles_.count - 1].lanes;
  channel_floats_ = RoundUp((1 + span_[0]) * SlabRows() * pitch_ + shared_ + widest, 32) + 16;
  position_floats_ = RoundUp(Positions(), widest);
  const base::Checked packed = base::Checked(g.groups) * group_floats_ * static_cast<int64_t>(sizeof(float));
  packed_handle_ = ledger->Book("packed weights", packed.ok() ? packed.value() : -1);
  int64_t scratch_bytes = 0;
  ScratchAt(nullptr, &scratch_bytes);
  scratch_handle_ = ledger->BookEach("scratch", scratch_bytes, exec::ThreadCount());
  const double packing = static_cast<double>(weight_.taps * source_channels_ * result_channels_) *
                         (dot_rate_ > 0 ? kWorkAPairedWeight : kWorkAPackedWeight);
  work_ = ((ProductWork(together_.products) + OtherWork(problem)) * static_cast<double>(pieces_) + packing) *
          static_cast<double>(g.groups);
}

void DataStep::MakePhases(const Geometry& g) {
  std::array<std::vector<AxisPhase>, 3> axes;
  for (int axis = 0; axis < 3; ++axis) {
    axes[axis] = WholeAxis(g, axis, forward_);
    bool any = false;
    int64_t greatest = 0;
    for (const AxisPhase& phase : axes[axis]) {
      walk_[axis] = std::max(walk_[axis], phase.walk);
      for (const AxisTap& tap : phase.taps) {
        least_[axis] = any ? std::min(least_[axis], tap.shift) : tap.shift;
        greatest = any ? std::max(greatest, tap.shift) : tap.shift;
        any = true;
      }
    }
    span_[axis] = greatest - least_[axis];
  }
  for (const AxisPhase& d : axes[0]) {
    for (const AxisPhase& h : axes[1]) {
      for (const AxisPhase& w : axes[2]) phases_.push_back({{d, h, w}, {}});
    }
  }
}

// Tall pieces share more of their rows; all phases' results stay in the cache.
void DataStep::Cut() {
  const int64_t chunks = CeilDiv(terms(), kMostChunk);
  chunk_ = CeilDiv(terms(), std::max<int64_t>(1, chunks));
  const int64_t results = static_cast<int64_t>(phases_.size()) * result_channels_;
  columns_ = base::PartSize(
      walk_[2], std::min(kMostColumns, std::max<int64_t>(64, kResultFloats / std::max<int64_t>(1, results))));
  pitch_ = columns_ + span_[2];
  if (columns_ == walk_[2]) {
    const int64_t before = -least_[2], behind = pitch_ + least_[2] - source_size_[2];
    shared_ = std::clamp<int64_t>(std::min(before, behind), 0, span_[2]);
    pitch_ -= shared_;
  }
  const int64_t by_results = kResultFloats / std::max<int64_t>(1, results * pitch_);
  const int64_t by_slab = kSlabFloats / std::max<int64_t>(1, chunk_ * (1 + span_[0]) * pitch_) - span_[1];
  rows_ = base::PartSize(walk_[1], std::min(by_results, by_slab));
}

void DataStep::ShareOut(const Geometry& g) {
  const auto jobs = [&] {
    return g.batch * g.groups * walk_[0] * CeilDiv(walk_[1], rows_) * CeilDiv(walk_[2], columns_);
  };
  while (jobs() < kEnoughJobs && rows_ > 4) rows_ = CeilDiv(rows_, 2);
  row_blocks_ = CeilDiv(walk_[1], rows_);
  column_blocks_ = CeilDiv(walk_[2], columns_);
  pieces_ = g.batch * walk_[0] * row_blocks_ * column_blocks_;
  const std::vector<AxisPhase> columns = WholeAxis(g, 2, forward_);
  pairs_ = columns.size() == 2 && columns[0].result_step == 2 && result_.strides[4] == 1;
  group_block_ = std::clamp<int64_t>(g.groups * pieces_ / kEnoughJobs / 2, 1, std::max<int64_t>(1, g.groups));
}

void DataStep::ListTaps(const Geometry& g) {
  for (Phase& phase : phases_) {
    phase.taps.reserve(phase.axes[0].taps.size() * phase.axes[1].taps.size() * phase.axes[2].taps.size());
    for (const AxisTap& d : phase.axes[0].taps) {
      for (const AxisTap& h : phase.axes[1].taps) {
        for (const AxisTap& w : phase.axes[2].taps) {
          phase.taps.push_back(
              {(d.kernel * g.kernel[1] + h.kernel) * g.kernel[2] + w.kernel,
               ((d.shift - least_[0]) * SlabRows() + h.shift - least_[1]) * pitch_ + w.shift - least_[2]});
        }
      }
    }
  }
}

ProductList DataStep::MakeProducts(int64_t phases_each) const {
  ProductList list;
  for (size_t first = 0; first < phases_.size(); first += static_cast<size_t>(phases_each)) {
    Product product{static_cast<int64_t>(first), phases_each, {}};
    for (int64_t p = 0; p < phases_each; ++p) {
      for (const Phase::Tap& tap : phases_[first + static_cast<size_t>(p)].taps) product.shifts.push_back(tap.shift);
    }
    std::sort(product.shifts.begin(), product.shifts.end());
    product.shifts.erase(std::unique(product.shifts.begin(), product.shifts.end()), product.shifts.end());
    product.vectors = Vectors(Rows(product));
    list.products.push_back(std::move(product));
  }
  return list;
}

void DataStep::ChooseProducts() {
  together_ = MakeProducts(static_cast<int64_t>(phases_.size()));
  if (phases_.size() > 1) {
    apart_ = MakeProducts(1);
    if (ProductWork(apart_.products) <= ProductWork(together_.products)) std::swap(together_, apart_);
    const std::vector<int64_t>& shifts = together_.products[0].shifts;
    const bool full = std::all_of(phases_.begin(), phases_.end(),
                                  [&](const Phase& phase) { return phase.taps.size() == shifts.size(); });
    if (together_.products.size() == phases_.size() || full) apart_.products.clear();
  }
  PlaceWeights(&together_);
  PlaceWeights(&apart_);
}

void DataStep::PlaceWeights(ProductList* list) {
  constexpr int64_t kNone = -1;
  list->tap_offsets.assign(static_cast<size_t>(weight_.taps), kNone);
  for (Product& product : list->products) {
    const int64_t shift_floats = ShiftFloats(product);
    product.packed_offset = group_floats_;
    group_floats_ += static_cast<int64_t>(product.shifts.size()) * shift_floats;
    for (int64_t p = 0; p < product.phases; ++p) {
      for (const Phase::Tap& tap : phases_[static_cast<size_t>(product.first_phase + p)].taps) {
        const auto shift = std::lower_bound(product.shifts.begin(), product.shifts.end(), tap.shift);
        list->tap_offsets[static_cast<size_t>(tap.weight)] =
            product.packed_offset + (shift - product.shifts.begin()) * shift_floats + p * result_channels_;
      }
    }
  }
  // Those that no position meets go where nothing is read.
  const auto first = list->tap_offsets.begin(), end = list->tap_offsets.end();
  if (list->products.empty() || std::find(first, end, kNone) == end) return;
  std::replace(first, end, kNone, group_floats_);
  group_floats_ += ShiftFloats(list->products[0]);
}

// Per vector of positions and term, for a tile of so many vectors.
double DataStep::TileWork(int64_t rows, int vectors) const {
  const int64_t rounds = CeilDiv(rows, int64_t{tiles_.tiles[vectors - 1].most_rows}), height = CeilDiv(rows, rounds);
  const bool short_vectors = ShortVectors();
  const double efficiency = height < 2   ? (short_vectors ? kShortEfficiencyOfOne : kEfficiencyOfOne)
                            : height < 4 ? kEfficiencyOfFew
                                         : (short_vectors ? kShortEfficiency : 1);
  // In registers, a term's loads take as long as multiply-adds; those of the source cross cache lines and count twice,
  // and as many lines are asked for ahead.
  const double a_product = dot_rate_ > 0 ? 2 / (dot_rate_ * kPairEfficiency) : 1;
  const double products = static_cast<double>(height * vectors) * a_product,
               loads = static_cast<double>(height + 3 * vectors);
  return static_cast<double>(rounds) * std::max(products / efficiency, loads) / static_cast<double>(vectors);
}

// Of the cheapest tile; of equals the one that reads the source least often, the widest of these.
int DataStep::Vectors(int64_t rows) const {
  const auto cost = [&](int vectors) {
    return std::pair(TileWork(rows, vectors), CeilDiv(rows, int64_t{tiles_.tiles[vectors - 1].most_rows}));
  };
  int best = tiles_.count;
  auto least = cost(best);
  for (int vectors = best - 1; vectors > 0; --vectors) {
    const auto here = cost(vectors);
    if (here >= least) continue;
    least = here;
    best = vectors;
  }
  return best;
}

double DataStep::ProductWork(const std::vector<Product>& products) const {
  double work = 0;
  for (const Product& product : products) {
    const int width = product.vectors;
    const double vectors = static_cast<double>(CeilDiv(Positions(), int64_t{tiles_.vector_lanes}));
    const double lanes = static_cast<double>(tiles_.vector_lanes) / kWorkLanes;
    const double rounds = static_cast<double>(CeilDiv(Rows(product), int64_t{tiles_.tiles[width - 1].most_rows}));
    const double terms = static_cast<double>(product.shifts.size()) * static_cast<double>(this->terms());
    const double chunks = static_cast<double>(CeilDiv(this->terms(), chunk_));
    work += lanes * vectors *
            (TileWork(Rows(product), width) * terms + static_cast<double>(Rows(product)) * chunks * kWorkATileVector);
    work += std::ceil(vectors / width) * rounds * chunks * kWorkATileCall;
  }
  return work;
}

double DataStep::OtherWork(const ConvProblem& problem) const {
  const auto conversion = [&](const Operand& operand) { return problem.IsPlain(operand) ? 0 : kWorkAConversion; };
  const bool ahead = problem.geometry.groups > 1 && rows_ == walk_[1];  // asked for while others are multiplied
  const double load = (dot_rate_ > 0 ? kWorkASlabPair : kWorkASlabElem) + (ahead ? 0 : kWorkAWait) +
                      conversion(source_) + (source_.strides[4] == 1 ? 0 : kWorkASlabStride);
  const double store = (pairs_ ? kWorkAPairedStore : kWorkAStore) + conversion(result_) +
                       (pairs_ || phases_[0].axes[2].result_step * result_.strides[4] == 1 ? 0 : kWorkAStride);
  const double slab_rows = static_cast<double>((1 + span_[0]) * SlabRows() * terms());
  const double result_rows = static_cast<double>(rows_ * result_channels_) * static_cast<double>(phases_.size());
  const double planes = static_cast<double>((1 + span_[0]) * terms()) +
                        static_cast<double>(result_channels_) * static_cast<double>(phases_.size());
  return slab_rows * (static_cast<double>(pitch_) * load + kWorkASlabRow) +
         result_rows * (static_cast<double>(columns_) * store + kWorkAStoredRow) + planes * kWorkAPlane;
}

DataScratch DataStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  DataScratch scratch;
  scratch.slab = carver.Take<float>(chunk_ * channel_floats_ + kernels::kLineSlack);
  scratch.results = carver.Take<float>(static_cast<int64_t>(phases_.size()) * result_channels_ * position_floats_);
  scratch.line = carver.Take<float>(sheets::LineFloats(2 * pitch_) + kernels::kLineSlack);
  scratch.weights = carver.Take<float>(weight_run_ * result_channels_);
  scratch.result_offsets = carver.Take<int64_t>(kernels::GatherTiles::kMostRows);
  scratch.runs = carver.Take<kernels::GatherRun>(weight_.taps);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string DataStep::Describe() const {
  return "pieces of " + std::to_string(rows_) + " rows by " + std::to_string(columns_) + " columns, " +
         std::to_string(phases_.size()) + " phases in " + std::to_string(together_.products.size()) +
         " products, chunks of " + std::to_string(std::min(chunk_ * a_term(), source_channels_)) + " source channels" +
         (dot_rate_ > 0 ? ", BF16 dot products" : "");
}

}  // namespace canopy::conv::pixel_lanes
