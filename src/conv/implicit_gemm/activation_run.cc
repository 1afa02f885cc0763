// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "conv/activation_product.h"
#include "conv/elements.h"
#include "conv/implicit_gemm/activation_step.h"
#include "conv/nonfinite.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"

namespace canopy::conv::implicit_gemm {

// One run of one step: its buffers with the plan's numbers.
class ActivationRun {
 public:
  ActivationRun(const ActivationStep& step, const ConvProblem& problem, const Buffers& buffers,
                const plan::WorkspaceLedger& ledger, void* workspace)
      : s_(step),
        p_(problem),
        b_(buffers),
        ledger_(ledger),
        workspace_(workspace),
        product_(s_.product_),
        source_(product_.Source(b_), product_.source.dtype, p_.rule),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        result_(product_.Result(b_), product_.result.dtype, p_.rule.saturate),
        packed_(static_cast<float*>(ledger.Fetch(workspace, s_.packed_handle_))),
        nonfinite_(new (ledger.Fetch(workspace, s_.flag_handle_)) std::atomic<int>(0)) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    const int64_t groups = p_.geometry.groups;
    PackAllWeights(serial);
    const bool nonfinite = product_.padding && nonfinite_->load(std::memory_order_relaxed) != 0;
    if (nonfinite) {
      weight_.TakeFiniteOnly();
      PackAllWeights(serial);
    }
    if (product_.gaps) {
      const int64_t rows = p_.geometry.batch * product_.result_channels * groups;
      exec::ParallelFor(rows, serial, [this](int64_t row, int) { product_.FillGaps(p_, b_, result_, row); });
    }
    exec::ParallelFor(groups * s_.jobs_, serial,
                      [this](int64_t index, int worker) { Job(index / s_.jobs_, index % s_.jobs_, worker); });
    if (nonfinite) AddNonfiniteWeightTerms(p_, product_.forward ? kForward : kBackwardData, b_, serial);
  }

 private:
  void PackAllWeights(bool serial) {
    const int64_t panels = static_cast<int64_t>(s_.phases_.size()) * s_.channel_panels_;
    exec::ParallelFor(p_.geometry.groups * panels, serial, [this, panels](int64_t index, int worker) {
      PackWeights(index / panels, index % panels / s_.channel_panels_, index % s_.channel_panels_, worker);
    });
  }

  int64_t ChannelWidth() const { return s_.pixels_are_lanes_ ? s_.tile_.rows : s_.tile_.lanes; }
  int64_t PixelWidth() const { return s_.pixels_are_lanes_ ? s_.tile_.lanes : s_.tile_.rows; }

  float* PackedPanel(int64_t group, const PackedPhase& phase, int64_t panel) const {
    return packed_ + group * s_.packed_floats_ + phase.packed_offset +
           panel * phase.taps * product_.source_channels * ChannelWidth();
  }

  // packed[k * width + j] = weight of result channel panel * width + j and term k = (tap, source channel).
  void PackWeights(int64_t group, int64_t phase_index, int64_t panel, int worker) {
    const PackedPhase& phase = s_.phases_[phase_index];
    const JobScratch scratch = s_.scratch_.At(ledger_, workspace_, worker);
    const int64_t width = ChannelWidth();
    const int64_t first = panel * width, valid = std::min(width, product_.result_channels - first);
    const int64_t group_offset = group * p_.geometry.group_output_channels() * p_.weight.strides[0];
    float* packed = PackedPanel(group, phase, panel);
    bool nonfinite = false;
    PixelMap unused;
    for (int64_t tap = 0; tap < phase.taps; ++tap) {
      const int64_t offset =
          group_offset + product_.TapWeightOffset(phase, tap, &unused) + first * product_.weight_result_stride;
      for (int64_t c = 0; c < product_.source_channels;) {
        const int64_t count = std::min(s_.blocking_.depth, product_.source_channels - c);
        const int64_t begin = offset + c * product_.weight_source_stride;
        nonfinite |= product_.weight_result_stride == 1 ? PackWeightRows(begin, count, valid, packed)
                                                        : PackWeightLines(begin, count, valid, scratch, packed);
        packed += count * width;
        c += count;
      }
    }
    if (nonfinite) nonfinite_->store(1, std::memory_order_relaxed);
  }

  // Result channels lie side by side: row by row. Returns whether a weight is not finite.
  bool PackWeightRows(int64_t begin, int64_t count, int64_t valid, float* to) const {
    for (int64_t k = 0; k < count; ++k) {
      float* row = to + k * ChannelWidth();
      weight_.FetchRun(begin + k * product_.weight_source_stride, valid, row);
      std::fill(row + valid, row + ChannelWidth(), 0.0f);
    }
    return kernels::Lines().any_nonfinite(to, count * ChannelWidth());
  }

  // Else four lines of source channels at a time.
  bool PackWeightLines(int64_t begin, int64_t count, int64_t valid, const JobScratch& scratch, float* to) const {
    const kernels::Segment line{0, 0, static_cast<int32_t>(count)};
    bool nonfinite = false;
    for (int64_t j = 0; j < ChannelWidth(); ++j) {
      float* to_line = scratch.lines[j % 4];
      if (j < valid) {
        weight_.Fetch(begin + j * product_.weight_result_stride, &line, 1, product_.weight_source_stride, count,
                      to_line);
        nonfinite |= kernels::Lines().any_nonfinite(to_line, count);
      } else {
        std::memset(to_line, 0, static_cast<size_t>(count) * sizeof(float));
      }
      if (j % 4 == 3) kernels::Lines().interleave4(scratch.lines, count, ChannelWidth(), to + j - 3);
    }
    return nonfinite;
  }

  // to[(k - begin) * width + j] = source under pixel first + j, for terms k in [begin, begin + count).
  void PackPixels(int64_t group, const PackedPhase& phase, int64_t first, int64_t begin, int64_t count,
                  const JobScratch& scratch, float* to) const {
    const int64_t width = PixelWidth(), valid = std::min(width, phase.pixels - first);
    const int64_t group_offset = group * product_.source_channels * product_.source.strides[1];
    for (int64_t k = begin; k < begin + count;) {
      const int64_t tap = k / product_.source_channels, c = k % product_.source_channels;
      const int64_t channels = std::min(product_.source_channels - c, begin + count - k);
      PixelMap map;
      product_.TapWeightOffset(phase, tap, &map);
      const int64_t segments = BuildSegments(map, first, valid, scratch.segments);
      const int64_t offset = group_offset + c * product_.source.strides[1];
      if (s_.channel_lines_) {
        PackChannelLines(map, segments, offset, channels, scratch, to);
      } else {
        for (int64_t i = 0; i < channels; ++i) {
          source_.Fetch(offset + i * product_.source.strides[1], scratch.segments, segments, map.element_step(), width,
                        to + i * width);
        }
      }
      to += channels * width;
      k += channels;
    }
  }

  // The same from lines of channels, four pixels at a time.
  void PackChannelLines(const PixelMap& map, int64_t segments, int64_t offset, int64_t channels,
                        const JobScratch& scratch, float* to) const {
    const int64_t width = PixelWidth();
    const kernels::Segment line{0, 0, static_cast<int32_t>(channels)};
    int64_t segment = 0;
    for (int64_t j = 0; j < width; ++j) {
      while (segment < segments && j >= scratch.segments[segment].begin + scratch.segments[segment].count) ++segment;
      float* to_line = scratch.lines[j % 4];
      if (segment < segments && j >= scratch.segments[segment].begin) {
        const kernels::Segment& in = scratch.segments[segment];
        source_.Fetch(offset + in.source + (j - in.begin) * map.element_step(), &line, 1, 1, channels, to_line);
      } else {
        std::memset(to_line, 0, static_cast<size_t>(channels) * sizeof(float));
      }
      if (j % 4 == 3) kernels::Lines().interleave4(scratch.lines, channels, width, to + j - 3);
    }
  }

  void Job(int64_t group, int64_t index, int worker) const {
    auto after = std::upper_bound(s_.phases_.begin(), s_.phases_.end(), index,
                                  [](int64_t job, const PackedPhase& phase) { return job < phase.first_job; });
    const PackedPhase& phase = *(after - 1);
    index -= phase.first_job;
    const int64_t channel_block = index % s_.channel_blocks_, pixel_block = index / s_.channel_blocks_;
    const JobScratch scratch = s_.scratch_.At(ledger_, workspace_, worker);
    const int64_t channel_step = s_.pixels_are_lanes_ ? s_.blocking_.row_panels : s_.blocking_.lane_panels;
    const int64_t pixel_step = s_.pixels_are_lanes_ ? s_.blocking_.lane_panels : s_.blocking_.row_panels;
    const int64_t channel_first = channel_block * channel_step, pixel_first = pixel_block * pixel_step;
    const int64_t channel_count = std::min(channel_step, s_.channel_panels_ - channel_first);
    const int64_t pixel_panels = (phase.pixels + PixelWidth() - 1) / PixelWidth();
    const int64_t pixel_count = std::min(pixel_step, pixel_panels - pixel_first);
    const int64_t depth = phase.taps * product_.source_channels;
    const auto weights = [&](int64_t panel, int64_t k, int64_t, float*) -> const float* {
      return PackedPanel(group, phase, channel_first + panel) + k * ChannelWidth();
    };
    const auto pixels = [&](int64_t panel, int64_t k, int64_t count, float* to) -> const float* {
      PackPixels(group, phase, (pixel_first + panel) * PixelWidth(), k, count, scratch, to);
      return to;
    };
    if (s_.pixels_are_lanes_) {
      MultiplyJob(s_.tile_, s_.blocking_, {channel_count, pixel_count, 0, depth}, scratch, weights, pixels);
      StorePixelLanes(group, phase, channel_first, channel_count, pixel_first, pixel_count, scratch);
    } else {
      MultiplyJob(s_.tile_, s_.blocking_, {pixel_count, channel_count, 0, depth}, scratch, pixels, weights);
      StoreChannelLanes(group, phase, channel_first, channel_count, pixel_first, pixel_count, scratch);
    }
  }

  // Tile rows are channels: a row is a line of pixels.
  void StorePixelLanes(int64_t group, const PackedPhase& phase, int64_t channel_first, int64_t channel_count,
                       int64_t pixel_first, int64_t pixel_count, const JobScratch& scratch) const {
    const PixelMap map = product_.ResultMap(phase);
    const int64_t rows = s_.tile_.rows, lanes = s_.tile_.lanes;
    const int64_t last = std::min((channel_first + channel_count) * rows, product_.result_channels);
    for (int64_t l = 0; l < pixel_count; ++l) {
      const int64_t first = (pixel_first + l) * lanes, valid = std::min(lanes, phase.pixels - first);
      const int64_t segments = BuildSegments(map, first, valid, scratch.segments);
      for (int64_t channel = channel_first * rows; channel < last; ++channel) {
        float* line = scratch.tiles + l * channel_count * rows * lanes + (channel - channel_first * rows) * lanes;
        const int64_t whole = group * product_.result_channels + channel;
        if (p_.has_bias) {
          const float bias = LoadBias(p_, b_, whole);
          for (int64_t i = 0; i < valid; ++i) line[i] += bias;
        }
        result_.Store(whole * product_.result.strides[1], scratch.segments, segments, map.element_step(), line);
      }
    }
  }

  // Tile rows are pixels: a row is a line of channels.
  void StoreChannelLanes(int64_t group, const PackedPhase& phase, int64_t channel_first, int64_t channel_count,
                         int64_t pixel_first, int64_t pixel_count, const JobScratch& scratch) const {
    const PixelMap map = product_.ResultMap(phase);
    const int64_t rows = s_.tile_.rows, lanes = s_.tile_.lanes;
    for (int64_t r = 0; r < pixel_count; ++r) {
      const int64_t first = (pixel_first + r) * rows, valid = std::min(rows, phase.pixels - first);
      for (int64_t i = 0; i < valid; ++i) {
        kernels::Segment pixel;
        BuildSegments(map, first + i, 1, &pixel);
        for (int64_t l = 0; l < channel_count; ++l) {
          const int64_t channel = (channel_first + l) * lanes,
                        count = std::min(lanes, product_.result_channels - channel);
          const int64_t whole = group * product_.result_channels + channel;
          float* line = scratch.tiles + ((l * pixel_count + r) * rows + i) * lanes;
          if (p_.has_bias) {
            for (int64_t c = 0; c < count; ++c) line[c] += LoadBias(p_, b_, whole + c);
          }
          const kernels::Segment channels{pixel.source, 0, static_cast<int32_t>(count)};
          result_.Store(whole * product_.result.strides[1], &channels, 1, product_.result.strides[1], line);
        }
      }
    }
  }

  const ActivationStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  const plan::WorkspaceLedger& ledger_;
  void* workspace_;
  const ActivationProduct& product_;
  LineReader source_, weight_;
  LineWriter result_;
  float* packed_;
  std::atomic<int>* nonfinite_;
};

void ActivationStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                         void* workspace) const noexcept {
  ActivationRun(*this, problem, buffers, ledger, workspace).Run();
}

}  // namespace canopy::conv::implicit_gemm
