// SPDX-License-Identifier: Apache-2.0
#include "conv/split_gemm/blocks.h"

#include "base/checked_math.h"
#include "exec/pool.h"

namespace canopy::conv::split_gemm {
namespace {

using kernels::kSplitSide;
using numerics::DType;
using numerics::InputRounding;

// Rows and lanes of 256: their panels and results are some 200 to 260 KiB each. Lanes that are a few more are not cut:
// rows would be packed twice for them. Nor are twice as many rows, where these are packed already and so take no room.
constexpr int64_t kMostPanels = 16, kMostLanePanels = 28, kMostPackedPanels = 32;

constexpr int64_t kFewJobs = 6;  // rows are cut for no more, since lanes are packed again for every cut

// What tells apart rows of results, and blocks of lanes, that lie a multiple of 4 KiB from one another: the L1 has few
// places for those.
constexpr int64_t kApart = 16, kHalfPage = 512, kPage = 1024;  // floats

int Parts(DType dtype, const numerics::NumericRule& rule) {
  switch (rule.input_rounding) {
    case InputRounding::kNone:
      return dtype == DType::kFloat32 ? 3 : dtype == DType::kFloat16 ? 2 : 0;
    case InputRounding::kBFloat16:
      return 0;
    default:
      return 2;
  }
}

int64_t Floats(int64_t count) {
  return base::RoundUp(count, plan::WorkspaceLedger::kAlignment / static_cast<int64_t>(sizeof(float)));
}

}  // namespace

int PartsOf(const ConvProblem& problem, const Operand& x, const Operand& y) {
  const int of_x = Parts(x.dtype, problem.rule), of_y = Parts(y.dtype, problem.rule);
  return of_x == 0 || of_y == 0 ? 0 : std::max(of_x, of_y);
}

Cut ChooseCut(const Product& product) {
  const int64_t lane_unit = product.lane_unit, units = base::CeilDiv(product.lane_panels, lane_unit);
  Cut cut;
  const int64_t most = lane_unit > 1 || product.lane_panels <= kMostLanePanels ? kMostLanePanels : kMostPanels;
  int64_t together = std::clamp<int64_t>(most / lane_unit, 1, units);
  const auto jobs = [&] {
    return product.count * base::CeilDiv(product.row_panels, cut.row_panels) * base::CeilDiv(units, together);
  };
  const auto cut_rows = [&](int64_t most_panels) {
    const int64_t most_rows = std::max<int64_t>(4, most_panels / product.results);
    cut.row_panels = base::CeilDiv(product.row_panels, base::CeilDiv(product.row_panels, most_rows));
  };
  cut_rows(product.packs_rows ? kMostPanels : kMostPackedPanels);
  if (jobs() < kEnoughJobs) cut_rows(kMostPanels);
  while (jobs() < kEnoughJobs && together * lane_unit > 4) {
    const int64_t fewer = (together + 1) / 2;
    if (fewer == together) break;
    together = fewer;
  }
  while (jobs() < kFewJobs && cut.row_panels > 4) cut.row_panels = (cut.row_panels + 1) / 2;
  together = base::CeilDiv(units, base::CeilDiv(units, together));
  cut.lane_panels = std::min(product.lane_panels, together * lane_unit);
  return cut;
}

ScratchLayout::ScratchLayout(const Cut& cut, int parts, int64_t blocks, int64_t results, int64_t line,
                             plan::WorkspaceLedger* ledger)
    : parts_(parts), times_(results) {
  rows_block_ = cut.row_panels * panel();
  lanes_block_ = base::RoundUp(cut.lane_panels * panel(), kPage) + kHalfPage;
  line_step_ = base::RoundUp(line, kSplitSide) + kApart;
  results_step_ = cut.lane_panels * kSplitSide + kApart;
  rows_ = Floats(kBlocksAPass * rows_block_);
  lanes_ = Floats(kBlocksAPass * lanes_block_);
  results_ = Floats(cut.row_panels * kSplitSide * results_step_);
  deep_ = blocks > kPassesASum * kBlocksAPass ? results_ : 0;
  lines_ = Floats(kernels::kSplitTerms * line_step_ + kernels::kLineSlack);
  const auto entries = [](int64_t count, size_t bytes) {
    return Floats(base::CeilDiv(count * static_cast<int64_t>(bytes), int64_t{sizeof(float)}));
  };
  segments_ = entries(line, sizeof(kernels::Segment));
  const int64_t panels = base::CeilDiv(line, int64_t{kSplitSide});
  pieces_ = entries(line + panels, sizeof(kernels::SplitPiece));  // a panel may cut a segment
  first_ = entries(panels + 1, sizeof(int32_t));
  asks_ = entries(kernels::SplitAsks(cut.row_panels, cut.lane_panels, kBlocksAPass, parts), sizeof(void*));
  const int64_t floats = rows_ + lanes_ + times_ * results_ + deep_ + lines_ + segments_ + pieces_ + first_ + asks_;
  handle_ =
      ledger->BookEach("packed panels and results", floats * static_cast<int64_t>(sizeof(float)), exec::ThreadCount());
}

JobScratch ScratchLayout::At(const plan::WorkspaceLedger& ledger, void* workspace, int worker) const {
  float* at = ledger.FetchEach(workspace, handle_).Of<float>(worker);
  const auto take = [&at](int64_t floats) {
    float* here = at;
    at += floats;
    return here;
  };
  JobScratch scratch;
  scratch.rows = take(rows_);
  scratch.lanes = take(lanes_);
  scratch.results = take(times_ * results_);
  scratch.deep = take(deep_);
  scratch.lines = take(lines_);
  scratch.segments = reinterpret_cast<kernels::Segment*>(take(segments_));
  scratch.pieces = reinterpret_cast<kernels::SplitPiece*>(take(pieces_));
  scratch.first_piece = reinterpret_cast<int32_t*>(take(first_));
  scratch.asks = reinterpret_cast<const void**>(take(asks_));
  return scratch;
}

std::string DescribeCut(const Cut& cut, int parts) {
  return std::to_string(parts) + " parts a number, job " + std::to_string(cut.row_panels * kSplitSide) + "x" +
         std::to_string(cut.lane_panels * kSplitSide);
}

}  // namespace canopy::conv::split_gemm
