// SPDX-License-Identifier: Apache-2.0
#include "conv/split_gemm/data_step.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/split_gemm/estimates.h"
#include "conv/split_gemm/pack.h"
#include "conv/tensor_bytes.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::split_gemm {
namespace {

using kernels::kSplitSide;
using kernels::kSplitTerms;

// Of weights that are packed for all jobs, beside a share of the tensors', but no more than is read as fast as packed.
constexpr double kMostPackedBytes = 7 << 20, kMostSharedBytes = 16 << 20;

}  // namespace

DataStep::DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : product_(problem, computation),
      parts_(PartsOf(problem, problem.weight, product_.source)),
      kernels_(*kernels::SplitGemm(parts_)),
      streamed_(RowsPastL3(problem, computation)),
      direct_(problem, computation, ledger) {
  ledger->StartOver();  // its time is after this step's own
  const int64_t groups = problem.geometry.groups, panels = RowPanels();
  int64_t most_taps = 0;
  for (const PhaseTriple& triple : product_.phases) {
    phases_.push_back({triple, packed_floats_});
    packed_floats_ += triple.taps * Chunks() * panels * kernels::SplitBlockFloats(parts_);
    most_taps = std::max(most_taps, triple.taps);
  }
  MakeCombs(problem.geometry);
  JoinEmptyRows(problem);
  int64_t most_pixels = 0, most_phases = 1;
  for (const Comb& comb : combs_) {
    most_pixels = std::max(most_pixels, comb.pixels);
    most_phases = std::max(most_phases, static_cast<int64_t>(comb.phases.size()));
  }
  packed_bytes_ = static_cast<double>(groups * packed_floats_) * sizeof(float);
  const double share = kWorkspaceShare * TensorBytes(problem, computation);
  const bool few_weights = packed_bytes_ <= std::min(kMostPackedBytes + share, kMostSharedBytes);
  cut_ = ChooseCut({panels, base::CeilDiv(most_pixels, int64_t{kSplitSide}), 1, most_phases,
                    groups * static_cast<int64_t>(combs_.size()), !few_weights});
  for (Comb& comb : combs_) {
    comb.first_job = jobs_;
    jobs_ += base::CeilDiv(comb.pixels, JobPixels()) * RowBlocks();
  }
  const int64_t blocks = most_taps * Chunks();
  if (few_weights && most_pixels > JobPixels()) {
    weights_ = packing::CommonNumbers("packed weights", groups * panels * static_cast<int64_t>(phases_.size()),
                                      groups * packed_floats_, 1, ledger);
  }
  work_ = Estimate(problem);
  losses_handle_ = ledger->Book("what parts cannot express", sizeof(Losses));
  taps_handle_ =
      ledger->BookEach("taps of a job", most_taps * static_cast<int64_t>(sizeof(int32_t)), exec::ThreadCount());
  scratch_ = ScratchLayout(cut_, parts_, blocks, most_phases, std::max<int64_t>(JobPixels(), kSplitTerms) * most_phases,
                           ledger);
}

void DataStep::MakeCombs(const Geometry& g) {
  if (!product_.forward) result_step_ = g.stride;
  const auto count = [this](int axis) { return std::min(result_step_[axis], product_.result_size[axis]); };
  for (int64_t d = 0; d < count(0); ++d) {
    for (int64_t h = 0; h < count(1); ++h) {
      Comb comb;
      comb.first = {d, h, 0};
      for (int axis = 0; axis < 3; ++axis) {
        comb.walk[axis] = base::CeilDiv(product_.result_size[axis] - comb.first[axis], result_step_[axis]);
      }
      comb.pixels = g.batch * comb.walk[0] * comb.walk[1] * comb.walk[2];
      comb.phases.assign(static_cast<size_t>(count(2)), -1);
      for (size_t i = 0; i < phases_.size(); ++i) {
        const auto& axes = phases_[i].axes;
        if (axes[0]->result_shift != d || axes[1]->result_shift != h) continue;
        comb.phases[static_cast<size_t>(axes[2]->result_shift)] = static_cast<int>(i);
      }
      combs_.push_back(comb);
    }
  }
}

// Where a single phase has taps and results lie as they come, every result is followed by zeros up to the next one.
void DataStep::JoinEmptyRows(const ConvProblem& problem) {
  const Operand& result = product_.result;
  const int64_t rows = result_step_[1], columns = result_step_[2];
  if (combs_.empty() || rows == 1 || rows > kSplitTerms || columns == 1) return;
  if (product_.result_size[1] % rows != 0 || product_.result_size[2] % columns != 0) return;
  if (problem.has_bias || result.strides[4] != 1 || result.strides[3] != product_.result_size[2]) return;
  const auto reached = [](int phase) { return phase >= 0; };
  const auto is_empty = [&](const Comb& comb) { return std::none_of(comb.phases.begin(), comb.phases.end(), reached); };
  for (const Comb& comb : combs_) {
    if (is_empty(comb)) continue;
    const bool first = comb.first[1] == 0 && reached(comb.phases[0]);
    if (!first || std::count_if(comb.phases.begin(), comb.phases.end(), reached) > 1) return;
  }
  std::vector<Comb> joined;
  for (size_t i = 0; i < combs_.size(); i += static_cast<size_t>(rows)) {
    if (is_empty(combs_[i])) {
      joined.insert(joined.end(), combs_.begin() + i, combs_.begin() + i + rows);
      continue;
    }
    joined.push_back(combs_[i]);
    joined.back().phases.resize(1);
    joined.back().rows_below = rows - 1;
  }
  combs_ = joined;
}

int64_t DataStep::Chunks() const { return base::CeilDiv(product_.source_channels, int64_t{kSplitTerms}); }
int64_t DataStep::RowPanels() const { return base::CeilDiv(product_.result_channels, int64_t{kSplitSide}); }
int64_t DataStep::RowBlocks() const { return base::CeilDiv(RowPanels(), cut_.row_panels); }

// Taps that a job's pixels reach, on average: those that reach none are left out.
double DataStep::TapsReached(const Comb& comb, const Phase& phase) const {
  const int64_t rows = base::CeilDiv(JobPixels(), comb.walk[2]);
  double taps = 0;
  for (const AxisTap& tap : phase.axes[1]->taps) {
    int64_t low, high;
    ValidRange(phase.axes[1]->source_step, tap.shift, product_.source_size[1], comb.walk[1], &low, &high);
    if (low >= high) continue;
    taps += static_cast<double>(std::min(comb.walk[1], high - low + rows)) / static_cast<double>(comb.walk[1]);
  }
  return taps * static_cast<double>(phase.axes[0]->taps.size() * phase.axes[2]->taps.size());
}

double DataStep::Estimate(const ConvProblem& problem) const {
  const double rows = static_cast<double>(RowPanels() * kSplitSide), row_blocks = static_cast<double>(RowBlocks());
  const Operand& source = product_.source;
  const bool runs = product_.weight_result_stride == 1 || product_.weight_source_stride == 1;
  const bool far = problem.geometry.taps() * product_.source_channels * product_.result_channels > kNearWeights;
  const double weight = (runs ? kWorkAWeight : kWorkAGatheredWeight) + (far ? kWorkAFetchedWeight : 0);
  const double packed = weights_.exist() && packed_bytes_ > kMostPackedBytes ? kWorkAReadWeight : 0;
  const double phase_result =
      kWorkAPhaseResult + (OutgrowsCaches(problem, problem.computations) ? kWorkAFarPhaseResult : 0);
  double work = 0;
  for (const Comb& comb : combs_) {
    const double pixels = static_cast<double>(base::RoundUp(comb.pixels, int64_t{kSplitSide}));
    const double reads = static_cast<double>(base::CeilDiv(comb.pixels, JobPixels()));
    const double packs = weights_.exist() ? 1 : reads;
    for (const int index : comb.phases) {
      const double results = comb.rows_below > 0 ? static_cast<double>((1 + comb.rows_below) * result_step_[2]) : 1;
      work += pixels * rows * results * (kWorkAResult + (comb.phases.size() > 1 ? phase_result : 0));
      if (index < 0) continue;
      const Phase& phase = phases_[static_cast<size_t>(index)];
      const int64_t step = phase.axes[2]->source_step * source.strides[4];
      const double lanes = kWorkASplitNumber + kWorkASegment / static_cast<double>(comb.walk[2]) +
                           (step == 1                ? 0
                            : source.strides[1] == 1 ? kWorkACopiedNumber
                            : step == kMostApart     ? kWorkASecondNumber
                                                     : kWorkAFetchedNumber);
      work += TapsReached(comb, phase) * static_cast<double>(Chunks() * kSplitTerms) *
              (rows * pixels * WorkAProduct(parts_) + row_blocks * pixels * lanes +
               (packs * weight + reads * packed) * rows);
    }
  }
  return static_cast<double>(problem.geometry.groups) * work + kWorkAStep;
}

std::string DataStep::Describe() const {
  return DescribeCut(cut_, parts_) + ", " + std::to_string(phases_.size()) + " phases in " +
         std::to_string(combs_.size()) + ", " + std::to_string(jobs_) + " jobs a group, weights packed " +
         (weights_.exist() ? "once" : "by each") +
         (!combs_.empty() && combs_[0].rows_below > 0 ? ", zeros with the results" : "") +
         (streamed_ != StreamedRows::kNone ? ", results past the caches" : "");
}

}  // namespace canopy::conv::split_gemm
