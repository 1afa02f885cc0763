// SPDX-License-Identifier: Apache-2.0
// The product of one job: panels of rows times panels of lanes, over blocks of terms, into results that stay in the L2.
#ifndef CANOPY_CONV_SPLIT_GEMM_BLOCKS_H_
#define CANOPY_CONV_SPLIT_GEMM_BLOCKS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "conv/problem.h"
#include "conv/split_gemm/losses.h"
#include "kernels/lines/contract.h"
#include "kernels/split_gemm/contract.h"
#include "kernels/streams.h"
#include "plan/workspace_ledger.h"

namespace canopy::conv::split_gemm {

inline constexpr int64_t kBlocksAPass = kernels::kSplitBlocks;  // of terms, packed together
inline constexpr int64_t kTermsAPass = kBlocksAPass * kernels::kSplitTerms;

// Passes whose sums are added to one another in the results before these are added to what was summed up before, so
// that FP32 stays accurate over millions of terms: 1024 terms are rounded 192 times, as every 32 are added at once.
inline constexpr int64_t kPassesASum = 8;

inline constexpr int64_t kEnoughJobs = 8;  // share out evenly over a few threads

// Parts of the numbers that products of this problem multiply, or 0 where they are no sums of so few.
int PartsOf(const ConvProblem& problem, const Operand& x, const Operand& y);

// Panels of a job.
struct Cut {
  int64_t row_panels = 1, lane_panels = 1;
};

// What is cut: panels of a product, of which there are `count` alike.
struct Product {
  int64_t row_panels, lane_panels;
  int64_t lane_unit;  // lanes are cut at multiples of so many panels
  int64_t results;    // a job has so many of each row and lane
  int64_t count;
  bool packs_rows;  // each job; else they are packed before
};

// Enough jobs, if there are that many; else jobs as large as the L2 holds.
Cut ChooseCut(const Product& product);

// One thread's working memory, all aligned to 64 bytes.
struct JobScratch {
  float *rows, *lanes;  // of a pass: [block][panel]
  float* results;       // [row][lane], as often as the layout says
  float* deep;          // as results; nullptr where no job is deep enough to need it
  float* lines;         // kernels::kSplitTerms of them
  kernels::Segment* segments;
  kernels::SplitPiece* pieces;  // of a line
  int32_t* first_piece;         // of every 16 numbers of it
  const void** asks;
};

class ScratchLayout {
 public:
  ScratchLayout() = default;
  // Sums of up to so many blocks, so many results at a time, and lines of up to `line` numbers.
  ScratchLayout(const Cut& cut, int parts, int64_t blocks, int64_t results, int64_t line,
                plan::WorkspaceLedger* ledger);

  JobScratch At(const plan::WorkspaceLedger& ledger, void* workspace, int worker) const;

  int parts() const { return parts_; }
  // Floats from one to the next.
  int64_t panel() const { return kernels::SplitBlockFloats(parts_); }
  int64_t rows_block() const { return rows_block_; }
  int64_t lanes_block() const { return lanes_block_; }
  int64_t line_step() const { return line_step_; }
  int64_t results_step() const { return results_step_; }  // rows of results
  int64_t results() const { return results_; }            // all results of a job

 private:
  int parts_ = 0;
  int64_t times_ = 1;  // results
  int64_t rows_block_ = 0, lanes_block_ = 0, line_step_ = 0, results_step_ = 0;
  int64_t rows_ = 0, lanes_ = 0, results_ = 0, deep_ = 0, lines_ = 0, segments_ = 0, pieces_ = 0, first_ = 0,
          asks_ = 0;  // floats
  int handle_ = -1;
};

struct JobRange {
  int64_t row_panels, lane_panels;
  int64_t first_block, blocks;  // of terms
};

// What the next pass reads, line by line of memory.
class AskList {
 public:
  // What the product of these operands has the time to ask for.
  AskList(const void** at, const kernels::SplitOperands& operands, int parts)
      : at_(at),
        room_(kernels::SplitAsks(operands.row_panels, operands.lane_panels, operands.blocks, parts)),
        stretch_(kernels::SplitAskedLines(parts) * kernels::kMemoryLine) {}

  void Add(const void* from, int64_t bytes) {
    for (; bytes > 0 && count_ < room_; bytes -= stretch_) {
      at_[count_++] = from;
      from = static_cast<const char*>(from) + stretch_;
    }
  }
  // The rest asks for what was asked for last.
  const void* const* Filled(const void* any) {
    std::fill(at_ + count_, at_ + room_, count_ > 0 ? at_[count_ - 1] : any);
    return at_;
  }

 private:
  const void** at_;
  int64_t room_, stretch_, count_ = 0;
};

// Sums into `results`. `pack_rows(block, count, to, at)` and `pack_lanes(block, count, to)` pack so many blocks of all
// panels of the job, rows_block() and lanes_block() floats from one to the next; the former says at[i] where they
// stand, if that is elsewhere. `ask(block, list)` adds to the list what these will read for the pass from `block` on,
// and behind the last block what the next job reads first.
template <class PackRows, class PackLanes, class Ask>
void MultiplyJob(const kernels::SplitKernels& kernels, const ScratchLayout& layout, const JobRange& range,
                 const JobScratch& scratch, float* results, const PackRows& pack_rows, const PackLanes& pack_lanes,
                 const Ask& ask) {
  const int64_t floats = range.row_panels * kernels::kSplitSide * layout.results_step();
  if (range.blocks == 0) std::memset(results, 0, static_cast<size_t>(floats) * sizeof(float));
  bool deep = false;
  int64_t passes = 0;
  for (int64_t block = 0; block < range.blocks; block += kBlocksAPass, ++passes) {
    if (passes == kPassesASum) {
      if (deep) {
        kernels::Lines().add(results, floats, scratch.deep);
      } else {
        std::memcpy(scratch.deep, results, static_cast<size_t>(floats) * sizeof(float));
      }
      deep = true;
      passes = 0;
    }
    kernels::SplitOperands operands{};
    operands.row_panels = range.row_panels;
    operands.lane_panels = range.lane_panels;
    operands.blocks = std::min(kBlocksAPass, range.blocks - block);
    operands.c = results;
    operands.c_step = layout.results_step();
    for (int64_t i = 0; i < operands.blocks; ++i) {
      operands.a[i] = scratch.rows + i * layout.rows_block();
      operands.b[i] = scratch.lanes + i * layout.lanes_block();
    }
    pack_rows(range.first_block + block, operands.blocks, scratch.rows, operands.a);
    pack_lanes(range.first_block + block, operands.blocks, scratch.lanes);
    AskList asks(scratch.asks, operands, layout.parts());
    ask(range.first_block + block + operands.blocks, &asks);
    operands.asks = asks.Filled(results);
    kernels.multiply(operands, passes > 0);
  }
  if (deep) kernels::Lines().add(scratch.deep, floats, results);
}

std::string DescribeCut(const Cut& cut, int parts);

}  // namespace canopy::conv::split_gemm

#endif  // CANOPY_CONV_SPLIT_GEMM_BLOCKS_H_
