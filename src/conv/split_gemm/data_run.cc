// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <new>

#include "base/checked_math.h"
#include "conv/elements.h"
#include "conv/split_gemm/data_results.h"
#include "conv/split_gemm/data_step.h"
#include "conv/split_gemm/pack.h"
#include "exec/pool.h"

namespace canopy::conv::split_gemm {

using kernels::kSplitSide;
using kernels::kSplitTerms;

// One run of one step: its buffers with the plan's numbers.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
          void* workspace)
      : s_(step),
        p_(problem),
        b_(buffers),
        ledger_(ledger),
        workspace_(workspace),
        product_(s_.product_),
        source_(product_.Source(b_), product_.source.dtype, p_.rule),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        losses_(new (ledger.Fetch(workspace, s_.losses_handle_)) Losses),
        results_(step, problem, buffers, losses_) {}

  // Whether the results are what the numbers make.
  bool Run() const {
    const bool serial = s_.work_ < kSerialWork;
    const int64_t groups = p_.geometry.groups, panels = s_.RowPanels();
    const int64_t phases = static_cast<int64_t>(s_.phases_.size());
    const auto make = [&](int64_t index, int worker, float* numbers) {
      const int64_t group = index / panels / phases, panel = index % panels;
      const DataStep::Phase& phase = s_.phases_[static_cast<size_t>(index / panels % phases)];
      const JobScratch scratch = Scratch(worker);
      for (int64_t chunk = 0; chunk < s_.Chunks(); ++chunk) {
        for (int64_t tap = 0; tap < phase.taps; ++tap) {
          PackWeights(group, phase, panel, {chunk, tap}, scratch,
                      numbers + PackedAt(group, phase, {chunk, tap}) + panel * s_.scratch_.panel());
        }
      }
    };
    const packing::CommonNumbers::Run weights(s_.weights_, ledger_, workspace_, make);
    weights.Begin(serial);
    exec::ParallelFor(groups * s_.jobs_, serial, [&](int64_t index, int worker) {
      Job(index / s_.jobs_, index % s_.jobs_, weights.Of(worker), worker, Scratch(worker));
    });
    return losses_->None();
  }

 private:
  struct Block {
    int64_t chunk, tap;
  };
  struct Channels {
    int64_t first, count;
  };
  // Panels of result channels.
  struct Rows {
    int64_t first, count;
  };
  // Pixels of a comb's phases.
  struct Pixels {
    int64_t first, count;
  };
  // Of a comb, what a job computes.
  struct Part {
    Rows rows;
    Pixels pixels;
  };

  JobScratch Scratch(int worker) const { return s_.scratch_.At(ledger_, workspace_, worker); }

  // Of weights that are packed before: where a block's first panel is.
  int64_t PackedAt(int64_t group, const DataStep::Phase& phase, const Block& block) const {
    return group * s_.packed_floats_ + phase.packed +
           (block.chunk * phase.taps + block.tap) * s_.RowPanels() * s_.scratch_.panel();
  }

  Channels ChannelsOf(int64_t chunk) const {
    const int64_t first = chunk * kSplitTerms;
    return {first, std::min<int64_t>(kSplitTerms, product_.source_channels - first)};
  }

  Channels ResultsOf(const Rows& panels) const {
    const int64_t first = panels.first * kSplitSide;
    return {first, std::min(panels.count * kSplitSide, product_.result_channels - first)};
  }

  // The source under a comb's pixels: a phase has as many a row as the comb.
  PixelMap SourceMap(const DataStep::Comb& comb, const DataStep::Phase& phase, int64_t tap) const {
    PixelMap map;
    product_.TapWeightOffset(phase, tap, &map);
    map.walk[2] = comb.walk[2];
    return map;
  }

  void PackWeights(int64_t group, const DataStep::Phase& phase, int64_t panel, const Block& block,
                   const JobScratch& scratch, float* to) const {
    const Channels results = ResultsOf({panel, 1}), channels = ChannelsOf(block.chunk);
    PixelMap unused;
    const int64_t offset = group * p_.geometry.group_output_channels() * p_.weight.strides[0] +
                           results.first * product_.weight_result_stride +
                           product_.TapWeightOffset(phase, block.tap, &unused) +
                           channels.first * product_.weight_source_stride;
    losses_->AddRows(PackGrid(
        weight_, {offset, product_.weight_result_stride, results.count, product_.weight_source_stride, channels.count},
        s_.kernels_.rows_along, s_.kernels_.rows_across, scratch.lines, to));
  }

  void PackPixels(int64_t group, const PixelMap& map, const Pixels& pixels, int64_t chunk, const JobScratch& scratch,
                  float* to) const {
    const int64_t segments = BuildSegments(map, pixels.first, pixels.count, scratch.segments);
    const Channels channels = ChannelsOf(chunk);
    const int64_t stride = product_.source.strides[1], apart = map.element_step();
    const int64_t offset = (group * product_.source_channels + channels.first) * stride;
    if (ChannelLines(product_.source, apart)) {
      losses_->AddLanes(PackChannelLines(offset, apart, segments, pixels.count, channels.count, scratch, to));
      return;
    }
    if (ReadsPieces(source_, apart)) {
      CutIntoPieces(scratch.segments, segments, pixels.count, apart, scratch.pieces, scratch.first_piece);
      losses_->AddLanes(s_.kernels_.pieces_of_lanes_across(
          {source_.form(), source_.Address(offset), stride, channels.count, apart,
           base::CeilDiv(pixels.count, int64_t{kSplitSide}), scratch.pieces, scratch.first_piece, s_.scratch_.panel()},
          to));
      return;
    }
    const int64_t step = s_.scratch_.line_step();
    for (int64_t c = 0; c < channels.count; ++c) {
      source_.Fetch(offset + c * stride, scratch.segments, segments, apart, pixels.count, scratch.lines + c * step);
    }
    for (int64_t pixel = 0; pixel < pixels.count; pixel += kSplitSide, to += s_.scratch_.panel()) {
      const int64_t width = std::min<int64_t>(kSplitSide, pixels.count - pixel);
      losses_->AddLanes(s_.kernels_.lanes_across({scratch.lines + pixel, step, channels.count, width, 0}, to));
    }
  }

  // Channels lie side by side, and pixels do not: a line is a pixel.
  uint32_t PackChannelLines(int64_t offset, int64_t pixel_step, int64_t segments, int64_t pixels, int64_t channels,
                            const JobScratch& scratch, float* to) const {
    uint32_t bits = 0;
    int64_t s = 0;
    for (int64_t pixel = 0; pixel < pixels; pixel += kSplitSide, to += s_.scratch_.panel()) {
      const int64_t end = std::min<int64_t>(pixel + kSplitSide, pixels);
      while (s < segments && scratch.segments[s].begin + scratch.segments[s].count <= pixel) ++s;
      const kernels::Segment* in = s < segments ? &scratch.segments[s] : nullptr;
      if (in != nullptr && in->begin <= pixel && in->begin + in->count >= end) {
        const int64_t at = offset + in->source + (pixel - in->begin) * pixel_step;
        bits |= PackGrid(source_, {at, pixel_step, end - pixel, 1, channels}, s_.kernels_.lanes_along,
                         s_.kernels_.lanes_across, scratch.lines, to);
        continue;
      }
      std::memset(scratch.lines, 0, sizeof(float) * kSplitSide * kSplitTerms);
      for (int64_t t = s; t < segments && scratch.segments[t].begin < end; ++t) {
        const kernels::Segment& some = scratch.segments[t];
        const int64_t begin = std::max<int64_t>(pixel, some.begin);
        for (int64_t i = begin; i < std::min<int64_t>(end, some.begin + some.count); ++i) {
          source_.FetchRun(offset + some.source + (i - some.begin) * pixel_step, channels,
                           scratch.lines + (i - pixel) * kSplitTerms);
        }
      }
      bits |= s_.kernels_.lanes_along({scratch.lines, kSplitTerms, end - pixel, channels, 0}, to);
    }
    return bits;
  }

  // Channels that blocks read for the first time, under a tap in the middle: what others read is mostly the same.
  void AskForPixels(int64_t group, const PixelMap& map, const Pixels& pixels, int64_t chunk, const JobScratch& scratch,
                    AskList* list) const {
    const int64_t segments = BuildSegments(map, pixels.first, pixels.count, scratch.segments);
    const Channels channels = ChannelsOf(chunk);
    AskForLines(source_, product_.source, group * product_.source_channels + channels.first, channels.count,
                scratch.segments, segments, map.element_step(), list);
  }

  // Likewise; all taps of a channel follow one another.
  void AskForWeights(int64_t group, const Rows& panels, int64_t chunk, AskList* list) const {
    const auto [first, rows] = ResultsOf(panels);
    const int64_t taps = p_.geometry.taps(), bytes = weight_.element_bytes();
    const Channels channels = ChannelsOf(chunk);
    const int64_t offset = group * p_.geometry.group_output_channels() * p_.weight.strides[0] +
                           first * product_.weight_result_stride + channels.first * product_.weight_source_stride;
    const bool rows_run = product_.weight_result_stride == taps;
    const int64_t lines = rows_run ? channels.count : rows, run = (rows_run ? rows : channels.count) * taps;
    const int64_t step = rows_run ? product_.weight_source_stride : product_.weight_result_stride;
    for (int64_t line = 0; line < lines; ++line) list->Add(weight_.Address(offset + line * step), run * bytes);
  }

  void Job(int64_t group, int64_t index, const float* weights, int worker, const JobScratch& scratch) const {
    auto after = std::upper_bound(s_.combs_.begin(), s_.combs_.end(), index,
                                  [](int64_t job, const DataStep::Comb& comb) { return job < comb.first_job; });
    const DataStep::Comb& comb = *(after - 1);
    index -= comb.first_job;
    const Part part = PartAt(comb, index);
    if (std::all_of(comb.phases.begin(), comb.phases.end(), [](int phase) { return phase < 0; })) {
      return results_.Fill(comb, WhereOf(group, part), scratch);
    }
    int32_t* taps = ledger_.FetchEach(workspace_, s_.taps_handle_).Of<int32_t>(worker);
    float* results = scratch.results;
    for (const int which : comb.phases) {
      if (which < 0) {
        std::memset(results, 0, static_cast<size_t>(s_.scratch_.results()) * sizeof(float));
      } else {
        Multiply(group, comb, s_.phases_[static_cast<size_t>(which)], part, PartAt(comb, index + 1), weights, taps,
                 scratch, results);
      }
      results += s_.scratch_.results();
    }
    results_.Store(comb, WhereOf(group, part), scratch);
  }

  JobResults WhereOf(int64_t group, const Part& part) const {
    const Channels results = ResultsOf(part.rows);
    return {group * product_.result_channels + results.first, results.count, part.pixels.first, part.pixels.count};
  }

  // Without pixels behind the last one.
  Part PartAt(const DataStep::Comb& comb, int64_t index) const {
    const int64_t row = index % s_.RowBlocks() * s_.cut_.row_panels, pixel = index / s_.RowBlocks() * s_.JobPixels();
    return {{row, std::min(s_.cut_.row_panels, s_.RowPanels() - row)},
            {pixel, std::clamp<int64_t>(comb.pixels - pixel, 0, s_.JobPixels())}};
  }

  // The part behind, whose first operands are asked for with the last of this one, is mostly this thread's too.
  void Multiply(int64_t group, const DataStep::Comb& comb, const DataStep::Phase& phase, const Part& part,
                const Part& behind, const float* weights, int32_t* taps, const JobScratch& scratch,
                float* results) const {
    const Rows& rows = part.rows;
    const Pixels& pixels = part.pixels;
    int64_t tap_count = 0;
    for (int64_t tap = 0; tap < phase.taps; ++tap) {
      if (BuildSegments(SourceMap(comb, phase, tap), pixels.first, pixels.count, scratch.segments) > 0) {
        taps[tap_count++] = static_cast<int32_t>(tap);
      }
    }
    const JobRange range{rows.count, base::CeilDiv(pixels.count, int64_t{kSplitSide}), 0, tap_count * s_.Chunks()};
    const auto block_at = [&](int64_t i) -> Block { return {i / tap_count, taps[i % tap_count]}; };
    const auto pack_rows = [&](int64_t first, int64_t count, float* to, const float** at) {
      if (weights != nullptr) {
        for (int64_t i = 0; i < count; ++i) {
          at[i] = weights + PackedAt(group, phase, block_at(first + i)) + rows.first * s_.scratch_.panel();
        }
        return;
      }
      const auto pack = [&](int64_t r, int64_t i) {
        PackWeights(group, phase, rows.first + r, block_at(first + i), scratch,
                    to + i * s_.scratch_.rows_block() + r * s_.scratch_.panel());
      };
      // What is packed next lies behind in memory: panels of a block where rows are neighbours, else blocks of a panel.
      if (product_.weight_result_stride == 1) {
        for (int64_t i = 0; i < count; ++i) {
          for (int64_t r = 0; r < rows.count; ++r) pack(r, i);
        }
      } else {
        for (int64_t r = 0; r < rows.count; ++r) {
          for (int64_t i = 0; i < count; ++i) pack(r, i);
        }
      }
    };
    const auto pack_lanes = [&](int64_t first, int64_t count, float* to) {
      for (int64_t i = 0; i < count; ++i, to += s_.scratch_.lanes_block()) {
        const Block block = block_at(first + i);
        PackPixels(group, SourceMap(comb, phase, block.tap), pixels, block.chunk, scratch, to);
      }
    };
    const auto ask = [&](int64_t begin, AskList* list) {
      const Part& at = begin < range.blocks ? part : behind;
      const int64_t first = begin < range.blocks ? begin : 0, end = std::min(first + kBlocksAPass, range.blocks);
      for (int64_t i = first; i < end && at.pixels.count > 0; ++i) {
        const Block block = block_at(i);
        if (weights != nullptr) {
          list->Add(weights + PackedAt(group, phase, block) + at.rows.first * s_.scratch_.panel(),
                    at.rows.count * s_.scratch_.panel() * static_cast<int64_t>(sizeof(float)));
        }
        if (i % tap_count != 0) continue;
        AskForPixels(group, SourceMap(comb, phase, taps[tap_count / 2]), at.pixels, block.chunk, scratch, list);
        if (weights == nullptr) AskForWeights(group, at.rows, block.chunk, list);
      }
    };
    MultiplyJob(s_.kernels_, s_.scratch_, range, scratch, results, pack_rows, pack_lanes, ask);
  }

  const DataStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  const plan::WorkspaceLedger& ledger_;
  void* workspace_;
  const ActivationProduct& product_;
  LineReader source_, weight_;
  Losses* losses_;
  DataResults results_;
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  if (!DataRun(*this, problem, buffers, ledger, workspace).Run()) direct_.Run(problem, buffers, ledger, workspace);
}

}  // namespace canopy::conv::split_gemm
