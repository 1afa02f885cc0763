// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/weights_parts.h"

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "conv/winograd/tile_runs.h"

namespace canopy::conv::winograd {
namespace {

using base::CeilDiv;
using kernels::kSplitBlocks;
using kernels::kSplitSide;
using kernels::kSplitTerms;

// Tiles of a block: stretches of neighbours.
struct Block {
  kernels::GatherRun stretches[kSplitTerms];
  int64_t count = 0, terms = 0;
};

// Walks through the runs.
class Terms {
 public:
  Terms(const PartsProduct& product)
      : runs_(product.runs), left_(product.run_count), a_step_(product.inputs.width), b_step_(product.outputs.width) {}

  // The next block; without terms behind the last one.
  Block Next() {
    Block block;
    while (left_ > 0 && block.terms < kSplitTerms) {
      const int64_t terms = std::min(runs_->terms - done_, kSplitTerms - block.terms);
      Add({runs_->a + done_ * a_step_, runs_->b + done_ * b_step_, terms}, &block);
      done_ += terms;
      if (done_ < runs_->terms) continue;
      ++runs_;
      --left_;
      done_ = 0;
    }
    return block;
  }

 private:
  void Add(const kernels::GatherRun& run, Block* block) const {
    if (run.terms == 0) return;
    block->terms += run.terms;
    kernels::GatherRun* const end = block->stretches + block->count;
    if (block->count > 0 && Continue(end - 1, run, a_step_, b_step_)) return;
    *end = run;
    ++block->count;
  }

  const kernels::GatherRun* runs_;
  int64_t left_, a_step_, b_step_;
  int64_t done_ = 0;  // of the first run that is left
};

// Panels of 16 channels that some channels, or all of several panels, are taken apart into.
int64_t SplitPanels(int64_t channels) { return CeilDiv(channels, int64_t{kSplitSide}); }
int64_t SplitPanels(const TilePanels& panels) {
  return panels.channels / panels.each * SplitPanels(panels.each) + SplitPanels(panels.channels % panels.each);
}

// visit(panel, its channels, 16 channels' panels before it) for each.
template <class Visit>
void ForEachPanel(const TilePanels& panels, const Visit& visit) {
  for (int64_t panel = 0; panel * panels.each < panels.channels; ++panel) {
    visit(panel, std::min(panels.each, panels.channels - panel * panels.each), panel * SplitPanels(panels.each));
  }
}

// All channels of a block, whose stretches begin at `at`.
uint32_t Pack(const TilePanels& panels, const Block& block, int64_t kernels::GatherRun::*at,
              kernels::SplitPackFn across, float* lines, float* to) {
  uint32_t bits = 0;
  ForEachPanel(panels, [&](int64_t number, int64_t channels, int64_t) {
    const float* panel = panels.first + number * panels.to_next;
    const float* from = panel + block.stretches[0].*at;
    if (block.count > 1) {
      float* line = lines;
      for (int64_t i = 0; i < block.count; ++i) {
        const int64_t floats = block.stretches[i].terms * panels.width;
        std::memcpy(line, panel + block.stretches[i].*at, static_cast<size_t>(floats) * sizeof(float));
        line += floats;
      }
      from = lines;
    }
    for (int64_t c = 0; c < channels; c += kSplitSide, to += kPartPanel) {
      bits |= across({from + c, panels.width, block.terms, std::min<int64_t>(kSplitSide, channels - c), 0}, to);
    }
  });
  return bits;
}

}  // namespace

void MultiplyInParts(const PartsProduct& product, bool accumulate, const PartsScratch& scratch,
                     split_gemm::Losses* losses) {
  const kernels::SplitKernels& kernels = *kernels::SplitGemm(kParts);
  const TilePanels &inputs = product.inputs, &outputs = product.outputs;
  const int64_t rows_block = SplitPanels(inputs) * kPartPanel, lanes_block = SplitPanels(outputs) * kPartPanel;
  // visit(first row panel, row panels, first lane panel, lane panels, products)
  const auto each_pair = [&](const auto& visit) {
    ForEachPanel(inputs, [&](int64_t row, int64_t row_channels, int64_t first_row) {
      ForEachPanel(outputs, [&](int64_t lane, int64_t lane_channels, int64_t first_lane) {
        visit(first_row, SplitPanels(row_channels), first_lane, SplitPanels(lane_channels),
              product.products + row * product.to_next_row + lane * product.to_next_pair);
      });
    });
  };
  Terms terms(product);
  Block block = terms.Next();
  if (block.terms == 0 && !accumulate) {
    each_pair([&](int64_t, int64_t rows, int64_t, int64_t, float* to) {
      std::memset(to, 0, static_cast<size_t>(rows * kSplitSide * outputs.width) * sizeof(float));
    });
  }
  uint32_t row_bits = 0, lane_bits = 0;
  while (block.terms > 0) {
    int64_t blocks = 0;
    for (; blocks < kPartsBlocks && block.terms > 0; ++blocks, block = terms.Next()) {
      row_bits |= Pack(inputs, block, &kernels::GatherRun::a, kernels.rows_across, scratch.lines,
                       scratch.rows + blocks * rows_block);
      lane_bits |= Pack(outputs, block, &kernels::GatherRun::b, kernels.lanes_across, scratch.lines,
                        scratch.lanes + blocks * lanes_block);
    }
    each_pair([&](int64_t row, int64_t rows, int64_t lane, int64_t lanes, float* to) {
      kernels::SplitOperands operands{};
      operands.row_panels = rows;
      operands.lane_panels = lanes;
      operands.c = to;
      operands.c_step = outputs.width;
      for (int64_t first = 0; first < blocks; first += kSplitBlocks) {
        operands.blocks = std::min<int64_t>(kSplitBlocks, blocks - first);
        for (int64_t i = 0; i < operands.blocks; ++i) {
          operands.a[i] = scratch.rows + (first + i) * rows_block + row * kPartPanel;
          operands.b[i] = scratch.lanes + (first + i) * lanes_block + lane * kPartPanel;
        }
        kernels.multiply(operands, accumulate || first > 0);
      }
    });
    accumulate = true;
  }
  losses->AddRows(row_bits);
  losses->AddLanes(lane_bits);
}

}  // namespace canopy::conv::winograd
