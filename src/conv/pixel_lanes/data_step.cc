// SPDX-License-Identifier: Apache-2.0
#include "conv/pixel_lanes/data_step.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/channel_lanes/scratch.h"
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
// Of the tiles, operands in the L2, by their rows: most vectors cross a cache line, which few rows do not make up for.
constexpr double kEfficiency = 0.95;
constexpr double kEfficiencyOfSome = 0.7;  // 4 to 6
constexpr double kEfficiencyOfFew = 0.5;   // 2 or 3
constexpr double kEfficiencyOfOne = 0.35;
constexpr double kWorkASlabElem = 0.7;  // copying one element
constexpr double kWorkASlabRow = 30;
constexpr double kWorkAPackedWeight = 16;
constexpr double kWorkAStore = 1;       // storing one element
constexpr double kWorkAStride = 3;      // more where it has no neighbour beside it
constexpr double kWorkATileVector = 2;  // adding to one vector of a result
constexpr double kWorkATileCall = 60;

int64_t EvenBlock(int64_t whole, int64_t most) {
  return whole == 0 ? 1 : CeilDiv(whole, CeilDiv(whole, std::max<int64_t>(1, most)));
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
  tiles_ = kernels::AllGatherTiles();
  MakePhases(g);
  Cut();
  ShareOut(g);
  ListTaps(g);
  ChooseProducts();
  // Whole vectors are read past the last position; an odd number of cache lines from channel to channel keeps channels
  // apart in the L1's sets.
  const int64_t widest = tiles_.tiles[tiles_.count - 1].lanes;
  channel_floats_ = RoundUp((1 + span_[0]) * SlabRows() * Pitch() + widest, 32) + 16;
  position_floats_ = RoundUp(Positions(), widest);
  const base::Checked packed = base::Checked(g.groups) * group_floats_ * static_cast<int64_t>(sizeof(float));
  packed_handle_ = ledger->Book("packed weights", packed.ok() ? packed.value() : -1);
  ScratchAt(nullptr, &scratch_bytes_);
  scratch_handle_ = ledger->Book("scratch of " + std::to_string(exec::ThreadCount()) + " threads",
                                 scratch_bytes_ * exec::ThreadCount());
  const double packing = static_cast<double>(weight_.taps * source_channels_ * result_channels_) * kWorkAPackedWeight;
  work_ =
      ((ProductWork(products_) + OtherWork()) * static_cast<double>(pieces_) + packing) * static_cast<double>(g.groups);
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
  const int64_t chunks = CeilDiv(source_channels_, kMostChunk);
  chunk_ = CeilDiv(source_channels_, std::max<int64_t>(1, chunks));
  const int64_t results = static_cast<int64_t>(phases_.size()) * result_channels_;
  columns_ =
      EvenBlock(walk_[2], std::min(kMostColumns, std::max<int64_t>(64, kResultFloats / std::max<int64_t>(1, results))));
  const int64_t by_results = kResultFloats / std::max<int64_t>(1, results * Pitch());
  const int64_t by_slab = kSlabFloats / std::max<int64_t>(1, chunk_ * (1 + span_[0]) * Pitch()) - span_[1];
  rows_ = EvenBlock(walk_[1], std::min(by_results, by_slab));
}

void DataStep::ShareOut(const Geometry& g) {
  const auto jobs = [&] {
    return g.batch * g.groups * walk_[0] * CeilDiv(walk_[1], rows_) * CeilDiv(walk_[2], columns_);
  };
  while (jobs() < kEnoughJobs && rows_ > 4) rows_ = CeilDiv(rows_, 2);
  row_blocks_ = CeilDiv(walk_[1], rows_);
  column_blocks_ = CeilDiv(walk_[2], columns_);
  pieces_ = g.batch * walk_[0] * row_blocks_ * column_blocks_;
}

void DataStep::ListTaps(const Geometry& g) {
  for (Phase& phase : phases_) {
    for (const AxisTap& d : phase.axes[0].taps) {
      for (const AxisTap& h : phase.axes[1].taps) {
        for (const AxisTap& w : phase.axes[2].taps) {
          phase.taps.push_back(
              {(d.kernel * g.kernel[1] + h.kernel) * g.kernel[2] + w.kernel,
               ((d.shift - least_[0]) * SlabRows() + h.shift - least_[1]) * Pitch() + w.shift - least_[2]});
        }
      }
    }
  }
}

std::vector<Product> DataStep::MakeProducts(int64_t phases_each) const {
  std::vector<Product> products;
  for (size_t first = 0; first < phases_.size(); first += static_cast<size_t>(phases_each)) {
    Product product{static_cast<int64_t>(first), phases_each, {}};
    for (int64_t p = 0; p < phases_each; ++p) {
      for (const Phase::Tap& tap : phases_[first + static_cast<size_t>(p)].taps) product.shifts.push_back(tap.shift);
    }
    std::sort(product.shifts.begin(), product.shifts.end());
    product.shifts.erase(std::unique(product.shifts.begin(), product.shifts.end()), product.shifts.end());
    products.push_back(std::move(product));
  }
  return products;
}

void DataStep::ChooseProducts() {
  apart_ = MakeProducts(1);
  products_ = MakeProducts(static_cast<int64_t>(phases_.size()));
  if (ProductWork(apart_) <= ProductWork(products_)) products_.swap(apart_);
  const std::vector<int64_t>& shifts = products_[0].shifts;
  const bool full = std::all_of(phases_.begin(), phases_.end(),
                                [&](const Phase& phase) { return phase.taps.size() == shifts.size(); });
  if (products_.size() == phases_.size() || full) apart_.clear();
  for (std::vector<Product>* list : {&products_, &apart_}) {
    for (Product& product : *list) {
      product.packed_offset = group_floats_;
      group_floats_ += static_cast<int64_t>(product.shifts.size()) * source_channels_ * Rows(product);
    }
  }
}

// The widest tile that takes all rows at once, or the highest of those that need two vectors or more.
int DataStep::Vectors(const Product& product) const {
  int vectors = tiles_.count;
  while (vectors > 2 && tiles_.tiles[vectors - 1].most_rows < Rows(product)) --vectors;
  return vectors;
}

double DataStep::ProductWork(const std::vector<Product>& products) const {
  double work = 0;
  for (const Product& product : products) {
    const kernels::GatherTiles& tiles = tiles_.tiles[Vectors(product) - 1];
    const int64_t rounds = CeilDiv(Rows(product), tiles.most_rows), rows = CeilDiv(Rows(product), rounds);
    const double vectors = static_cast<double>(RoundUp(Positions(), tiles_.tiles[0].lanes)) / 16;
    const double efficiency = rows < 2   ? kEfficiencyOfOne
                              : rows < 4 ? kEfficiencyOfFew
                              : rows < 7 ? kEfficiencyOfSome
                                         : kEfficiency;
    const double chunks = static_cast<double>(CeilDiv(source_channels_, chunk_));
    work += vectors * static_cast<double>(Rows(product)) *
                (static_cast<double>(product.shifts.size()) * static_cast<double>(source_channels_) / efficiency +
                 chunks * kWorkATileVector) +
            static_cast<double>(CeilDiv(Positions(), tiles.lanes) * rounds) * chunks * kWorkATileCall;
  }
  return work;
}

double DataStep::OtherWork() const {
  const double slab_rows = static_cast<double>((1 + span_[0]) * SlabRows() * source_channels_);
  const double results = static_cast<double>(Positions() * result_channels_) * static_cast<double>(phases_.size());
  const bool apart = phases_[0].axes[2].result_step * result_.strides[4] != 1;
  return slab_rows * (static_cast<double>(Pitch()) * kWorkASlabElem + kWorkASlabRow) +
         results * (kWorkAStore + (apart ? kWorkAStride : 0));
}

DataScratch DataStep::ScratchAt(char* at, int64_t* bytes) const {
  channel_lanes::Carver carver(at);
  DataScratch scratch;
  scratch.slab = carver.Take<float>(chunk_ * channel_floats_ + kernels::kLineSlack);
  scratch.results = carver.Take<float>(static_cast<int64_t>(phases_.size()) * result_channels_ * position_floats_);
  scratch.line = carver.Take<float>(Pitch() + 2 * kernels::kLineSlack);
  scratch.result_offsets = carver.Take<int64_t>(kernels::GatherTiles::kMostRows);
  scratch.runs = carver.Take<kernels::GatherRun>(weight_.taps);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string DataStep::Describe() const {
  return "pieces of " + std::to_string(rows_) + " rows by " + std::to_string(columns_) + " columns, " +
         std::to_string(phases_.size()) + " phases in " + std::to_string(products_.size()) + " products, chunks of " +
         std::to_string(chunk_) + " source channels";
}

}  // namespace canopy::conv::pixel_lanes
