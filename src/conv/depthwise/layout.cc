// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked_math.h"
#include "base/cpu.h"
#include "conv/depthwise/step.h"
#include "conv/work.h"
#include "exec/pool.h"

namespace canopy::conv::depthwise {
namespace {

constexpr int64_t kEnoughJobs = 16;    // shares out evenly over a few threads
constexpr double kJobWork = 100e3;     // less is not worth sharing
constexpr int64_t kLeastPart = 8;      // coordinates of an axis that are cut only when nothing else helps
constexpr double kFetchWork = 8;       // a vector's way into a slab, in vector multiply-adds at the peak rate
constexpr double kStoreWork = 10;      // and out of it
constexpr double kConversionWork = 3;  // more where elements are not plain FP32
constexpr double kQuickFactor = 1.75;  // of both ways, where a multiply-add takes half a cycle

// Short rows of large planes come from many pages.
constexpr int64_t kFarBytes = 32 << 10;                   // of a channel
constexpr double kFarFetchWork = 20, kFarStoreWork = 55;  // more, of long vectors; half of that of short ones

double CopyWorkOf(const ConvProblem& problem, const Operand& operand, bool stored) {
  const bool plain = problem.IsPlain(operand) && operand.strides[4] == 1;
  const bool far = operand.strides[1] * numerics::ElementBytes(operand.dtype) > kFarBytes;
  const double near = (base::Cpu().halves ? 1 : kQuickFactor) * (stored ? kStoreWork : kFetchWork);
  const double more = (ShortVectors() ? 0.5 : 1) * (stored ? kFarStoreWork : kFarFetchWork);
  return near + (far ? more : 0) + (plain ? 0 : kConversionWork);
}

}  // namespace

PieceLayout::PieceLayout(const ConvProblem& problem, Computation computation)
    : cut_results_(computation != kBackwardWeights) {
  const Geometry& g = problem.geometry;
  for (int axis = 0; axis < 3; ++axis) {
    bool gaps = false;
    laws_[axis] = LawsOfAxis(g, computation, axis, &gaps);
    gaps_ = gaps_ || gaps;
  }
  choice_ = ChooseOrder(laws_, kernels_);
  for (const AxisLaw& law : laws_[choice_.order.vertical]) {
    const Margins margins = MarginsFor(law, choice_.rows);
    margins_ = margins_ || margins.before + margins.behind > 0;
  }
  vector_lanes_ = kernels::Stencils().lanes;
  lanes_ = sheets::LaneLayout(g.batch, g.groups, vector_lanes_);
  const bool input_is_source = computation != kBackwardData;
  source_channels_ = input_is_source ? g.group_input_channels() : g.group_output_channels();
  piece_channels_ = input_is_source ? g.group_output_channels() : g.group_input_channels();
  extent_ = input_is_source ? g.output_size : g.input_size;
  const double block_work = choice_.work * static_cast<double>(source_channels_ * piece_channels_);
  const int64_t jobs_wanted = base::CeilDiv(kEnoughJobs, lanes_.group_blocks * lanes_.image_blocks);
  ChoosePieces(std::min(jobs_wanted, static_cast<int64_t>(block_work / kJobWork) + 1));
  CountFloats();
  const Operand& piece = computation == kForward        ? problem.output_result
                         : computation == kBackwardData ? problem.input_result
                                                        : problem.output;
  const double source_work = CopyWorkOf(problem, input_is_source ? problem.input : problem.output, false);
  const double piece_work = CopyWorkOf(problem, piece, cut_results_);
  copy_work_ = (static_cast<double>(source_floats_) * source_work + static_cast<double>(piece_floats_) * piece_work) /
               static_cast<double>(vector_lanes_) * static_cast<double>(pieces()) *
               static_cast<double>(lanes_.group_blocks * lanes_.image_blocks);
}

Box PieceLayout::Piece(int64_t index) const {
  Box box;
  for (int axis = 2; axis >= 0; --axis) {
    const int64_t begin = index % counts_[axis] * part_[axis];
    box[axis] = {begin, std::min(extent_[axis], begin + part_[axis])};
    index /= counts_[axis];
  }
  return box;
}

Box PieceLayout::SourceBox(const Box& piece) const {
  Box box;
  for (int axis = 0; axis < 3; ++axis) box[axis] = SourcesOf(laws_[axis], piece[axis], cut_results_);
  return box;
}

SlabShape PieceLayout::SourceShape(const Box& piece) const {
  const Box sources = SourceBox(piece);
  const int vertical = choice_.order.vertical;
  Margins most;
  for (const AxisLaw& law : laws_[vertical]) {
    const AxisLaw cut = cut_results_ ? law.WithResults(piece[vertical]) : law.WithTaps(piece[vertical]);
    const Margins margins = MarginsFor(cut.WithSources(sources[vertical]), choice_.rows);
    most = {std::max(most.before, margins.before), std::max(most.behind, margins.behind)};
  }
  return SlabShape(sources, source_channels_, vector_lanes_, vertical, most);
}

SlabShape PieceLayout::PieceShape(const Box& piece) const {
  return SlabShape(piece, piece_channels_, vector_lanes_, choice_.order.vertical, {});
}

// Without margins, which are few.
int64_t PieceLayout::EstimatedBytes() const {
  int64_t source = source_channels_, piece = piece_channels_;
  for (int axis = 0; axis < 3; ++axis) {
    source *= MostSources(laws_[axis], extent_[axis], part_[axis], cut_results_);
    piece *= part_[axis];
  }
  return (source + piece) * vector_lanes_ * static_cast<int64_t>(sizeof(float));
}

bool PieceLayout::Halve(int axis) {
  if (part_[axis] == 1) return false;
  part_[axis] = base::CeilDiv(part_[axis], 2);
  const bool rows = cut_results_ && axis == choice_.order.vertical && part_[axis] > choice_.rows;
  if (rows) part_[axis] = base::RoundUp(part_[axis], choice_.rows);
  counts_[axis] = base::CeilDiv(extent_[axis], part_[axis]);
  if (!rows) part_[axis] = base::CeilDiv(extent_[axis], counts_[axis]);
  return true;
}

// Pieces that fit the second-level cache and give enough jobs. The vertical axis is cut first, since lines stay whole.
void PieceLayout::ChoosePieces(int64_t least_pieces) {
  part_ = extent_;
  counts_ = {1, 1, 1};
  const int vertical = choice_.order.vertical;
  const int64_t budget = std::clamp<int64_t>(base::Cpu().l2_bytes / 2, 256 << 10, 1 << 20);
  const auto largest = [&](int64_t above) {
    int best = -1;
    for (int axis = 0; axis < 3; ++axis) {
      if (part_[axis] > above && (best < 0 || part_[axis] > part_[best])) best = axis;
    }
    return best;
  };
  while (EstimatedBytes() > budget) {
    int axis = part_[vertical] > 2 * kLeastPart ? vertical : largest(kLeastPart);
    if (axis < 0) axis = largest(1);
    if (axis < 0) break;
    Halve(axis);
  }
  while (pieces() < least_pieces) {
    const int axis = part_[vertical] > 2 * kLeastPart ? vertical : largest(2 * kLeastPart);
    if (axis < 0) break;
    Halve(axis);
  }
}

void PieceLayout::CountFloats() {
  for (int64_t index = 0; index < pieces(); ++index) {
    const Box piece = Piece(index);
    source_floats_ = std::max(source_floats_, SourceShape(piece).floats);
    piece_floats_ = std::max(piece_floats_, PieceShape(piece).floats);
  }
}

std::string PieceLayout::Describe() const {
  const auto text = [](const Extent3& e) {
    return std::to_string(e[0]) + "x" + std::to_string(e[1]) + "x" + std::to_string(e[2]);
  };
  return std::to_string(lanes_.block_groups) + " groups and " + std::to_string(lanes_.block_images) +
         " images as lanes, " + DescribeOrder(choice_) + ", pieces of " + text(part_) + ", " +
         std::to_string(lanes_.group_blocks * lanes_.image_blocks * pieces()) + " jobs";
}

ThreadLayout::ThreadLayout(const PieceLayout& layout, plan::WorkspaceLedger* ledger) {
  const auto bytes = [](int64_t elements, int64_t size) {
    return base::RoundUp(elements * size, plan::WorkspaceLedger::kAlignment);
  };
  source_ = bytes(layout.source_floats(), sizeof(float));
  piece_ = bytes(layout.piece_floats(), sizeof(float));
  lines_ = bytes(LaneScratch::Floats(layout.vector_lanes()), sizeof(float));
  const int64_t total = source_ + piece_ + lines_ + bytes(kMostColumns, sizeof(kernels::StencilColumn));
  handle_ = ledger->BookEach("slabs", total, exec::ThreadCount());
}

ThreadScratch ThreadLayout::At(const plan::WorkspaceLedger& ledger, void* workspace, int worker) const {
  char* at = ledger.FetchEach(workspace, handle_).Of(worker);
  ThreadScratch scratch;
  scratch.source = reinterpret_cast<float*>(at);
  scratch.piece = reinterpret_cast<float*>(at + source_);
  scratch.lines = reinterpret_cast<float*>(at + source_ + piece_);
  scratch.columns = reinterpret_cast<kernels::StencilColumn*>(at + source_ + piece_ + lines_);
  return scratch;
}

}  // namespace canopy::conv::depthwise
