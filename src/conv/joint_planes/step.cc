// SPDX-License-Identifier: Apache-2.0
#include "conv/joint_planes/step.h"

#include <algorithm>
#include <cmath>

#include "base/checked_math.h"
#include "conv/joint_planes/parts.h"
#include "conv/joint_planes/passes.h"
#include "conv/sheets/sheet.h"
#include "conv/streams.h"
#include "conv/work.h"
#include "kernels/joint_planes/contract.h"
#include "kernels/streams.h"

namespace canopy::conv::joint_planes {

using kernels::convert::Form;

namespace {

constexpr int64_t kEnoughJobs = 32;    // shares out evenly over a few threads
constexpr int64_t kJobVectors = 512;   // at least, of a job: what it does before the first hardly counts
constexpr int64_t kSumFloats = 4096;   // of a job's channels, in the first-level cache
constexpr int64_t kMostChannels = 16;  // of a job
// Likewise of small planes, before whose first a call has as much to do as one takes: sums in the second-level cache.
constexpr int64_t kFoldedSumFloats = 16 << 10, kMostFoldedChannels = 64;
constexpr int64_t kSheetFloats = 6144;   // of all sheets: half of a first-level cache of 48 KiB
constexpr int64_t kEnoughVectors = 100;  // of a sheet: what a kernel does before the first hardly counts
constexpr int64_t kVectorsAhead = 32;    // memory is asked for, where nothing is in sheets: some 200 ns
constexpr int64_t kDoubledAhead = 12;    // likewise of doubled kernels: longer ones, which more would drive out again

// In vector multiply-adds at the peak rate, measured.
constexpr double kCopyWork = 3.5;      // of a vector
constexpr double kSplitWork = 8;       // where it is split, or put together again
constexpr double kConversionWork = 4;  // more where elements are not plain FP32
constexpr double kRowWork = 6;         // of a row's way, besides
constexpr double kRoundWork = 3;       // of a vector that a kernel rounds
constexpr double kBlockWork = 8;       // of rows that a kernel takes at once, unless it looks for the edges itself
constexpr double kPassWork = 30;
constexpr double kEdgedWork = 40;                            // of a pass whose kernel looks for the edges itself
constexpr double kRollingWork = 160;                         // of a rolling kernel's of one gradient
constexpr double kDoubledData = 100, kDoubledWeights = 230;  // of doubled ones' of five rows
constexpr double kCallWork = 120;                            // of a pass over all planes of a sheet
constexpr double kPlaneWork = 20;
constexpr double kReduceWork = 6;  // of a vector of a weight's sums
constexpr double kOverhead = 1.2;
// Under several kernel rows with short vectors.
constexpr double kShortPlaneWork = 120, kShortOverhead = 1.45;

// Whether there are as many positions as outputs, and each meets its own under the kernel's middle.
bool IsCentred(const sheets::Reach& reach) {
  return reach.residues.size() == 1 && reach.residues[0].offsets == reach.before + reach.after + 1 &&
         reach.before == reach.after && reach.positions == reach.outputs;
}

}  // namespace

JointStep::JointStep(const ConvProblem& problem, uint8_t computations, plan::WorkspaceLedger* ledger)
    : computations_(computations),
      rows_(problem.geometry, 1),
      columns_(problem.geometry, 2),
      slices_(problem.geometry),
      passes_(ListPasses(rows_, columns_)),
      pair_passes_(ListPairPasses(rows_, columns_)),
      whole_passes_{
          {.rows = problem.geometry.kernel[1], .columns = problem.geometry.kernel[2], .first = true, .last = true}},
      lanes_(kernels::JointPlanes().lanes) {
  Lay(problem);
  ShareOut(problem.geometry);
  Cut();
  BookWorkspace(problem.geometry, ledger);
  SpreadAhead(problem);
  work_ = CountWork(problem);
}

int64_t JointStep::VectorsOf(int64_t rows) const { return rows * base::CeilDiv(columns_.positions, lanes_); }

Form JointStep::FormOf(const ConvProblem& problem) const {
  const Form read = kernels::convert::FormRead(problem.input.dtype, problem.rule);
  const Form written = kernels::convert::FormWritten(problem.input_result.dtype, problem.rule.saturate);
  if (!weights()) return written;
  const bool both = problem.input.dtype == problem.input_result.dtype && written != Form::kOther;
  return !data() || both ? read : Form::kOther;
}

bool JointStep::HasKernels(Kind kind) const {
  if (form_ == Form::kOther) return false;
  const bool adds = TypeOf(form_) == numerics::DType::kFloat32 || !data();  // to results of passes before
  if (!adds && slices_.most() > 1) return false;
  const std::vector<sheets::Pass>& passes = this->passes(kind);
  return std::all_of(passes.begin(), passes.end(), [&](const sheets::Pass& pass) {
    const auto has = [&](Form form, kernels::JointResults what) {
      return KernelOf(kernels::JointPlanes(form), kind, what, pass) != nullptr;
    };
    // Where FP32 numbers are taken by one pass for both, two are more work than to convert others into a sheet first.
    const bool may_part =
        kind != Kind::kPlain || Wanted() != kernels::kJointBoth || GoApart(pass.rows, pass.columns, Wanted());
    const bool apart = may_part && (!data() || has(DataForm(kind, form_), kernels::kJointData)) &&
                       (!weights() || has(form_, kernels::kJointWeights));
    return (apart || has(form_, Wanted())) && (adds || (pass.first && pass.last));
  });
}

bool JointStep::ReadsInForm(Form read) const {
  return form_ != Form::kOther && read != Form::kOther && TypeOf(read) == TypeOf(form_);
}

kernels::JointResults JointStep::Wanted() const {
  return data() && weights() ? kernels::kJointBoth : data() ? kernels::kJointData : kernels::kJointWeights;
}

bool JointStep::IsNarrow(Form read) const {
  const auto centred = [](const sheets::Reach& reach) { return reach.before == 1 && IsCentred(reach); };
  return VectorsOf(1) == 1 && ReadsInForm(read) && kernels::JointPlanes(read).narrow[Wanted()] != nullptr &&
         centred(rows_) && centred(columns_) && rows_.positions > kernels::kJointNarrowRows;
}

bool JointStep::IsFolded(const ConvProblem& problem, Form read) const {
  const int64_t size = whole_passes_[0].rows, row = problem.output.strides[3];
  return ReadsInForm(read) && size == whole_passes_[0].columns && size <= kernels::kMostJointRows &&
         kernels::JointPlanes(read).folded[Wanted()][size] != nullptr && IsCentred(rows_) && IsCentred(columns_) &&
         columns_.positions <= kernels::kMostFoldedColumns && rows_.positions <= kernels::kMostFoldedRows &&
         rows_.positions >= kernels::kMostFoldedRows - 1 && (!weights() || problem.input.strides[3] == row) &&
         (!data() || problem.input_result.strides[3] == row);
}

bool JointStep::IsDoubled(Form read) const {
  // Every output is one position's own.
  const int64_t size = whole_passes_[0].rows;
  const auto doubles = [&](const sheets::Reach& reach) {
    return reach.residues.size() == 2 && reach.residues[0].offsets + reach.residues[1].offsets == size &&
           reach.before >= 0 && reach.after >= 0 && reach.before + reach.after == size / 2 &&
           reach.outputs <= reach.positions;
  };
  return ReadsInForm(read) && size <= kernels::kMostJointRows && doubles(rows_) && doubles(columns_) &&
         kernels::JointPlanes(read).doubled[kernels::kJointData][size] != nullptr &&
         2 * VectorsOf(kernels::kJointNarrowRows) <= kMostTerms &&
         (kernels::kJointNarrowRows + 2) * row_pitch_ <= kSheetFloats;
}

bool JointStep::IsRolling(Form read) const {
  const auto dense = [](const sheets::Reach& reach) { return reach.residues.size() == 1; };
  const int64_t size = whole_passes_[0].rows;
  if (!ReadsInForm(read) || !dense(rows_) || !dense(columns_) || size != whole_passes_[0].columns) return false;
  if (size > kernels::kMostJointRows) return false;
  const kernels::JointKernels& kernels = kernels::JointPlanes(read);
  const bool sums = data() || !bias() || kernels.rolling[kernels::kJointBoth][size] != nullptr;
  return sums && kernels.rolling[kernels::kJointData][size] != nullptr;
}

Kind JointStep::KindOf(const ConvProblem& problem, Form read) const {
  if (IsFolded(problem, read)) return Kind::kFolded;
  if (IsNarrow(read)) return Kind::kNarrow;
  if (IsRolling(read)) return Kind::kRolling;
  if (IsDoubled(read)) return Kind::kDoubled;
  return pair_passes_.empty() ? Kind::kPlain : Kind::kPairs;
}

void JointStep::Lay(const ConvProblem& problem) {
  const bool whole = kernels::JointPlanes().tails || columns_.positions % lanes_ == 0;
  form_ = FormOf(problem);
  row_pitch_ = sheets::RowPitch(columns_.Pitch(), lanes_);
  const Form read = kernels::convert::FormRead(problem.output.dtype, problem.rule);
  const Kind kind = KindOf(problem, read);
  direct_ = (problem.geometry.stride[2] == 1 ? whole : TakesPairs(kind)) && HasKernels(kind) &&
            (!data() || !(slices_.fewest() == 0 || rows_.HasGaps() || columns_.HasGaps()));
  if (direct_) kind_ = kind;
  kernels_form_ = FindsEdges(kind_) ? read : form_;
  streams_ = Streams(problem);
}

bool JointStep::Streams(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  if (!data() || kind_ == Kind::kPlain || kind_ == Kind::kFolded) return false;
  if (TypeOf(form_) != numerics::DType::kFloat32) return false;
  const bool passes = ResultPassesL3(problem, kBackwardData);
  if (slices_.most() > 1 || !(passes || FillsCaches(problem, computations_))) return false;
  constexpr int64_t kLine = kernels::kMemoryLineFloats;
  const auto& strides = problem.input_result.strides;
  if (strides[0] % kLine != 0 || strides[1] % kLine != 0 || strides[2] % kLine != 0) return false;
  const int64_t width = g.input_size[2], plane = g.input_size[1] * width;
  if (TakesPairs(kind_) && strides[3] % kLine == 0 && width % kLine == 0) return true;
  // Else rows leave together, out of a copy.
  if (!CopyPastCaches(problem, computations_)) return false;
  if (kind_ == Kind::kPairs || strides[3] != width) return false;
  if (kind_ == Kind::kDoubled) {
    return 2 * kernels::kJointNarrowRows * width % kLine == 0 && plane % kLine == 0 &&
           plane <= kernels::kMostGatheredFloats;
  }
  if (kind_ == Kind::kNarrow) return kernels::kJointNarrowRows * width % kLine == 0;
  const int64_t part = PartRows(rows_.positions, VectorsOf(1), kMostRollingVectors) * width;
  return VectorsOf(1) <= kMostRollingVectors && part <= kernels::kMostGatheredFloats && part % kLine == 0 &&
         plane % kLine == 0;
}

void JointStep::Cut() {
  const bool several = passes_.size() > 1 || slices_.most() > 1;
  const bool results = data() && kind_ == Kind::kPlain && several;  // of all passes but the last
  const int64_t sheets = direct_ ? 1 + (results ? 1 : 0) : 1 + (weights() ? residues() : 0) + (data() ? residues() : 0);
  const int64_t reach = std::max<int64_t>(0, rows_.before + rows_.after);
  const int64_t most = std::max<int64_t>(1, (kSheetFloats / row_pitch_ - reach) / sheets);
  band_ = base::CeilDiv(rows_.positions, base::CeilDiv(rows_.positions, most));
  // Where an input plane meets several of the output's, its rows stay in the first-level cache meanwhile.
  const bool stays = kind_ == Kind::kDoubled && slices_.most() > 1;
  const int64_t inputs = (weights() ? 1 : 0) + (data() ? 1 : 0);
  const int64_t fit = kSheetFloats / (residues() * columns_.positions * inputs + columns_.outputs);
  if (!GoesInParts(kind_)) {
    int64_t rows = std::min(most, kMostTerms / TermsOf(1));
    if (stays) rows = std::min(rows, std::max<int64_t>(fit, kernels::kJointNarrowRows));
    if (rows_.positions > rows) band_ = rows - rows % kernels::kJointNarrowRows;
  }
  bands_ = base::CeilDiv(rows_.positions, band_);
  plane_pitch_ = base::RoundUp(rows_.Pitch() * row_pitch_, lanes_);
  if (bands_ == 1) {
    const int64_t planes = std::min(kSheetFloats / (sheets * plane_pitch_), kEnoughVectors / VectorsOf(band_) + 1);
    planes_ = base::PartSize(channel_block_, planes);
  }
  const int64_t near = stays ? fit / band_ : channel_block_;
  in_place_planes_ = std::clamp<int64_t>(near, 1, channel_block_);
  const int64_t ahead = kind_ == Kind::kDoubled ? kDoubledAhead : kVectorsAhead;
  distance_ = FindsEdges(kind_) ? ahead / VectorsOf(BandRows(kind_)) + 1 : planes_;
  const int64_t slack = std::max<int64_t>(0, columns_.after) + 3 * lanes_;
  // A vector before what any position meets; the kernel's first column then meets whole lines.
  const int64_t first = columns_.residues[0].first % lanes_;
  front_ = base::RoundUp(std::max<int64_t>(0, columns_.before) + lanes_, lanes_) + (first + lanes_) % lanes_;
  const int64_t rows = band_ + std::max(reach, rows_.Pitch() - rows_.positions);
  output_floats_ = base::RoundUp(front_ + (planes_ - 1) * plane_pitch_ + rows * row_pitch_ + slack, lanes_);
  input_floats_ = base::RoundUp((planes_ - 1) * plane_pitch_ + band_ * row_pitch_ + slack, lanes_);
  const int64_t room = kernels::JointRoom(std::min(rows_.positions, kMostTerms), kernels::kMostJointRows);
  if (kind_ == Kind::kRolling) input_floats_ = std::max(input_floats_, room * lanes_);
}

void JointStep::ShareOut(const Geometry& g) {
  const int64_t taps = weights() ? g.taps() * lanes_ : 1;
  items_ = g.batch * g.input_size[0];
  const int64_t jobs =
      std::clamp<int64_t>(g.groups * items_ * VectorsOf(rows_.positions) / kJobVectors, 1, kEnoughJobs);
  const int64_t blocks = base::CeilDiv(jobs, items_);
  const bool folded = kind_ == Kind::kFolded;
  const int64_t fit = (folded ? kFoldedSumFloats : kSumFloats) / taps;
  channel_block_ =
      std::clamp<int64_t>(std::min(fit, g.groups / blocks), 1, folded ? kMostFoldedChannels : kMostChannels);
  channel_blocks_ = base::CeilDiv(g.groups, channel_block_);
  segments_ = std::clamp<int64_t>(jobs / channel_blocks_, 1, items_);
  segments_ = base::CeilDiv(items_, base::CeilDiv(items_, segments_));
}

void JointStep::BookWorkspace(const Geometry& g, plan::WorkspaceLedger* ledger) {
  sums_floats_ = base::RoundUp(channel_block_ * ((weights() ? g.taps() * lanes_ : 0) + 1), lanes_);
  line_floats_ = base::RoundUp(sheets::LineFloats(std::max(g.input_size[2], g.output_size[2])), lanes_);
  const int64_t inputs = (weights() ? 1 : 0) + (data() ? 1 : 0);
  const int64_t thread_floats = output_floats_ + inputs * residues() * input_floats_ + sums_floats_ + line_floats_;
  const int64_t sums = (weights() ? g.taps() : 0) + (bias() ? 1 : 0);
  workspace_.Book(data() ? g.groups * g.taps() : 0, segments_ * g.groups * sums, thread_floats, ledger);
}

// How far a kernel's requests for the next planes move on: those for the output's planes with each slice anew.
void JointStep::SpreadAhead(const ConvProblem& problem) {
  const Operand* operands[] = {&problem.output, &problem.input, &problem.input_result};
  const int64_t passes_a_slice = static_cast<int64_t>(passes(kind_).size());
  for (int i = 0; i < 3; ++i) {
    const int64_t passes = passes_a_slice * (i == 0 ? 1 : std::max<int64_t>(1, slices_.most())),
                  steps = VectorsOf(1) * passes;
    const int64_t bytes = numerics::ElementBytes(operands[i]->dtype), stride = i == 0 ? 1 : problem.geometry.stride[1];
    ahead_[i].plane_bytes = operands[i]->strides[1] * bytes;
    ahead_[i].row_bytes = operands[i]->strides[3] * bytes * stride;
    ahead_[i].pass_bytes = ahead_[i].row_bytes / passes;
    ahead_[i].step = ahead_[i].row_bytes / steps + 1;
  }
}

double JointStep::CountWork(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const auto copies = [&](const Operand& operand, int64_t rows, int64_t columns, bool split) {
    const double vector = (split ? kSplitWork : kCopyWork) + (problem.IsPlain(operand) ? 0 : kConversionWork);
    return static_cast<double>(rows) * (kRowWork + vector * static_cast<double>(base::CeilDiv(columns, lanes_)));
  };
  const bool split = g.stride[2] > 1;
  // Of the input's planes and of what they meet.
  const double planes = static_cast<double>(g.input_size[0]), slices = static_cast<double>(slices_.total());
  const bool short_rows = ShortVectors() && g.kernel[1] > 1;
  double work = planes * (short_rows ? kShortPlaneWork : kPlaneWork) +
                (FindsEdges(kind_) ? 0 : slices * copies(problem.output, g.output_size[1], g.output_size[2], false));
  if (weights() && !direct_) work += planes * copies(problem.input, g.input_size[1], g.input_size[2], split);
  if (data() && !direct_) work += planes * copies(problem.input_result, g.input_size[1], g.input_size[2], split);
  const double vectors = static_cast<double>(VectorsOf(rows_.positions));
  if (weights()) work += kReduceWork * static_cast<double>(g.taps() * segments_) / static_cast<double>(g.batch);
  const int results = (data() ? 1 : 0) + (weights() ? 1 : 0);
  const bool rounds = problem.rule.input_rounding != numerics::InputRounding::kNone;
  const double rounded = weights() && rounds ? kRoundWork * vectors : 0;
  for (const sheets::Pass& pass : passes(kind_)) {
    const double bands = static_cast<double>(base::CeilDiv(rows_.positions, BandRows(kind_))),
                 calls = bands / static_cast<double>(PlanesAtOnce(kind_));
    const double firsts = pass.first ? std::min(planes, slices) : 0;
    if (kind_ == Kind::kDoubled) {
      const double halves = static_cast<double>(rows_.positions * base::CeilDiv(g.input_size[2], lanes_));
      const double edges =
          pass.rows == 3 ? kEdgedWork : (data() ? kDoubledData : 0) + (weights() ? kDoubledWeights : 0);
      work += slices * (halves * DoubledWork(pass, results) + (edges * bands + kCallWork * calls)) + rounded;
      continue;
    }
    if (kind_ == Kind::kFolded) {
      work += slices * (FoldedWork(pass, results, kernels_form_ != Form::kFloat32) + kCallWork * calls);
      continue;
    }
    if (kind_ == Kind::kRolling) {
      const bool both = kernels::JointPlanes(kernels_form_).rolling[kernels::kJointBoth][pass.rows] != nullptr;
      const double parts = std::ceil(vectors / static_cast<double>(kMostTerms));
      const double around = static_cast<double>((pass.rows - 1) * std::min(VectorsOf(1), kMostRollingVectors));
      const double plane = (vectors + (parts - 1) * around) * RollingWork(pass, both ? results : 1, rounds) +
                           parts * (both ? kEdgedWork : kRollingWork);
      work += slices * ((both ? 1 : results) * plane + kCallWork * calls);
      continue;
    }
    if (kind_ == Kind::kPairs) {
      work += firsts * vectors * PairWork(pass.rows, true, results) +
              (slices - firsts) * vectors * PairWork(pass.rows, false, results) +
              slices * (kPassWork * bands + kCallWork * calls);
      continue;
    }
    const double blocks = static_cast<double>(BlocksOf(rows_.positions, pass, Wanted()));
    work += firsts * vectors * VectorWork(pass.rows, pass.columns, true, Wanted()) +
            (slices - firsts) * vectors * VectorWork(pass.rows, pass.columns, false, Wanted()) +
            slices * (kCallWork * calls +
                      (FindsEdges(kind_) ? kEdgedWork * bands + rounded : kBlockWork * blocks + kPassWork * bands));
  }
  return (short_rows ? kShortOverhead : kOverhead) * work * static_cast<double>(g.groups * g.batch * lanes_) /
         kWorkLanes;
}

std::string JointStep::Describe() const {
  const char* in_sheets = FindsEdges(kind_) ? "nothing in sheets"
                          : direct_         ? "the output in sheets"
                                            : "everything in sheets";
  return std::string(in_sheets) + ", " + std::to_string(planes_) + " channels at once, bands of " +
         std::to_string(band_) + " rows, " + std::to_string(passes(kind_).size()) + " passes, " +
         std::to_string(channel_blocks_ * segments_) + " jobs, " + std::to_string(segments_) + " segments" +
         (streams_ ? ", results past the caches" : "");
}

}  // namespace canopy::conv::joint_planes
