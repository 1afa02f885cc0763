// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked_math.h"
#include "conv/pointwise/data_step.h"
#include "exec/pool.h"

namespace canopy::conv::pointwise {
namespace {

constexpr int64_t kCacheLine = 64;

}  // namespace

// One run of one step: its buffers with the plan's numbers.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, char* scratch)
      : s_(step),
        p_(problem),
        b_(buffers),
        scratch_(scratch),
        source_(s_.forward_ ? b_.input : b_.output, s_.source_.dtype, p_.rule),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        result_(s_.forward_ ? b_.output_result : b_.input_result, s_.result_.dtype, p_.rule.saturate) {}

  void Run() const {
    const int64_t pieces = s_.pieces_.count(), blocks = s_.blocks_;
    exec::ParallelFor(p_.geometry.groups * blocks * pieces, s_.work_ < kSerialWork, [&](int64_t index, int worker) {
      Job(index / (pieces * blocks), index / pieces % blocks, index % pieces,
          s_.ScratchAt(scratch_ + worker * s_.scratch_bytes_, nullptr));
    });
  }

 private:
  struct Panel {
    int64_t first, count;   // pixels of the plane
    bool direct;            // results are written where they belong
    int64_t result_offset;  // of its first pixel and the block's first channel, in the tensor
    float* results;         // elsewhere
  };

  void Job(int64_t group, int64_t block, int64_t piece, const DataScratch& scratch) const {
    const int64_t first = block * s_.block_, channels = std::min(s_.block_, s_.result_channels_ - first);
    int64_t c = 0;
    do {  // once for no channels at all: the results are then 0
      const int64_t sources = std::min(s_.chunk_, s_.source_channels_ - c);
      PackRows(group, first, channels, c, sources, scratch);
      ForEachPanel(group, first, piece, scratch, [&](const Panel& panel) {
        const int64_t offset = SourceOffset(group, piece, panel, c);
        Multiply(panel, offset, channels, sources, c > 0, scratch);
      });
      c += s_.chunk_;
    } while (c < s_.source_channels_);
    ForEachPanel(group, first, piece, scratch, [&](const Panel& panel) {
      if (!panel.direct) {
        Store(group, first, channels, panel);
      } else if (p_.rule.saturate) {
        Saturate(channels, panel);
      }
    });
  }

  template <class F>
  void ForEachPanel(int64_t group, int64_t first_channel, int64_t piece, const DataScratch& scratch,
                    const F& visit) const {
    const int64_t most = s_.panel_, begin = s_.pieces_.first(piece), end = begin + s_.pieces_.size(piece);
    const int64_t offset = s_.pieces_.image(piece) * s_.result_.strides[0] +
                           (group * s_.result_channels_ + first_channel) * s_.result_.strides[1];
    for (int64_t first = begin; first < end; first += most) {
      const int64_t count = std::min(most, end - first);
      const bool direct = s_.direct_ && count % s_.tiles_[0].lanes == 0;
      const int64_t number = s_.direct_ ? 0 : (first - begin) / most;
      visit(Panel{first, count, direct, offset + first, scratch.results + number * s_.block_ * most});
    }
  }

  // weights[(panel of rows * sources + source) * rows + row]
  void PackRows(int64_t group, int64_t first, int64_t channels, int64_t c, int64_t sources,
                const DataScratch& scratch) const {
    const int64_t rows = s_.rows();
    const int64_t offset = group * p_.geometry.group_output_channels() * p_.weight.strides[0] +
                           c * s_.weight_.source_stride + first * s_.weight_.result_stride;
    for (int64_t r = 0; r < channels; r += rows) {
      channel_lanes::PackWeights(weight_, s_.weight_,
                                 {offset + r * s_.weight_.result_stride, sources, std::min(rows, channels - r), rows},
                                 scratch.lines, scratch.weight_offsets, scratch.weights + r * sources);
    }
  }

  int64_t SourceOffset(int64_t group, int64_t piece, const Panel& panel, int64_t c) const {
    return s_.pieces_.image(piece) * s_.source_.strides[0] + (group * s_.source_channels_ + c) * s_.source_.strides[1] +
           panel.first;
  }

  void PackPixels(int64_t offset, int64_t count, int64_t sources, const DataScratch& scratch) const {
    float* to = scratch.pixels;
    for (int64_t k = 0; k < sources; ++k) {
      source_.FetchRun(offset, count, to);
      offset += s_.source_.strides[1];
      to += s_.panel_;
    }
  }

  void Multiply(const Panel& panel, int64_t offset, int64_t channels, int64_t sources, bool accumulate,
                const DataScratch& scratch) const {
    const int64_t rows = s_.rows(), lanes = s_.lanes(), vector = s_.tiles_[0].lanes;
    const int64_t row_stride = panel.direct ? s_.result_.strides[1] : s_.panel_;
    const kernels::GatherRun run{0, 0, sources};
    kernels::GatherOperands operands{};
    operands.runs = &run;
    operands.run_count = 1;
    operands.a = scratch.weights;
    operands.a_step = rows;
    operands.b_copy_step = s_.panel_;
    operands.result_offsets = scratch.result_offsets;
    for (int64_t r = 0; r < rows; ++r) scratch.result_offsets[r] = r * row_stride;
    float* results = panel.direct ? Results() + panel.result_offset : panel.results;
    // The first rows' product copies whole vectors of FP32 pixels on its way.
    const float* in_place = panel.count % vector == 0 ? source_.Direct(offset, 1) : nullptr;
    if (in_place == nullptr) PackPixels(offset, panel.count, sources, scratch);
    // Meanwhile the next panel: planes are too far apart for the processor to foresee. The line that holds its first
    // pixels has come with this one.
    const int64_t bytes = numerics::ElementBytes(s_.source_.dtype), ahead = s_.panel_ + kCacheLine / bytes;
    for (int64_t r = 0; r < channels; r += rows, operands.a += rows * sources) {
      const bool first = r == 0, copying = first && in_place != nullptr;
      operands.b_step = copying ? s_.source_.strides[1] : s_.panel_;
      for (int64_t i = 0; i < panel.count; i += lanes) {
        const int64_t vectors = base::CeilDiv(std::min<int64_t>(lanes, panel.count - i), vector);
        const bool more = first && panel.first + ahead + i < s_.pieces_.plane;
        operands.b = copying ? in_place + i : scratch.pixels + i;
        operands.b_copy = scratch.pixels + i;
        operands.ahead = more ? source_.Address(offset + ahead + i) : operands.b;
        operands.ahead_step = more ? s_.source_.strides[1] * bytes : 0;
        operands.c = results + r * row_stride + i;
        const kernels::GatherTiles& tiles = s_.tiles_[vectors - 1];
        const kernels::GatherGemmFn* by_rows = copying ? +tiles.adjacent_copying : +tiles.adjacent;
        by_rows[std::min(rows, channels - r)](operands, accumulate);
      }
    }
  }

  void Store(int64_t group, int64_t first, int64_t channels, const Panel& panel) const {
    const kernels::Segment whole{0, 0, static_cast<int32_t>(panel.count)};
    for (int64_t r = 0; r < channels; ++r) {
      float* line = panel.results + r * s_.panel_;
      if (p_.has_bias) {
        const int64_t channel = group * s_.result_channels_ + first + r;
        const char* at =
            static_cast<const char*>(b_.bias) + channel * p_.bias.strides[1] * numerics::ElementBytes(p_.bias.dtype);
        const float bias = numerics::LoadElement(at, p_.bias.dtype);
        for (int64_t i = 0; i < panel.count; ++i) line[i] += bias;
      }
      result_.Store(panel.result_offset + r * s_.result_.strides[1], &whole, 1, 1, line);
    }
  }

  // FP32 results, where they belong.
  float* Results() const { return static_cast<float*>(s_.forward_ ? b_.output_result : b_.input_result); }

  void Saturate(int64_t channels, const Panel& panel) const {
    const kernels::Segment whole{0, 0, static_cast<int32_t>(panel.count)};
    for (int64_t r = 0; r < channels; ++r) {
      const int64_t offset = panel.result_offset + r * s_.result_.strides[1];
      result_.Store(offset, &whole, 1, 1, Results() + offset);
    }
  }

  const DataStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  char* scratch_;
  LineReader source_, weight_;
  LineWriter result_;
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  DataRun(*this, problem, buffers, static_cast<char*>(ledger.Fetch(workspace, scratch_handle_))).Run();
}

}  // namespace canopy::conv::pointwise
