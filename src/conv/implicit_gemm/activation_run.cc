// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

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
        source_(s_.forward_ ? b_.input : b_.output, s_.source_.dtype, p_.rule),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        result_(s_.forward_ ? b_.output_result : b_.input_result, s_.result_.dtype, p_.rule.saturate),
        packed_(static_cast<float*>(ledger.Fetch(workspace, s_.packed_handle_))),
        nonfinite_(new (ledger.Fetch(workspace, s_.flag_handle_)) std::atomic<int>(0)) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    const int64_t groups = p_.geometry.groups;
    PackAllWeights(serial);
    const bool nonfinite = s_.padding_ && nonfinite_->load(std::memory_order_relaxed) != 0;
    if (nonfinite) {
      weight_.TakeFiniteOnly();
      PackAllWeights(serial);
    }
    if (s_.gaps_) {
      const int64_t rows = p_.geometry.batch * s_.result_channels_ * groups;
      exec::ParallelFor(rows, serial, [this](int64_t row, int) { FillGaps(row); });
    }
    exec::ParallelFor(groups * s_.jobs_, serial,
                      [this](int64_t index, int worker) { Job(index / s_.jobs_, index % s_.jobs_, worker); });
    if (nonfinite) AddNonfiniteWeightTerms(p_, s_.forward_ ? kForward : kBackwardData, b_, serial);
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

  float* PackedPanel(int64_t group, const PhaseTriple& phase, int64_t panel) const {
    return packed_ + group * s_.packed_floats_ + phase.packed_offset +
           panel * phase.taps * s_.source_channels_ * ChannelWidth();
  }

  // The phase's tap number `index`: its kernel offset in the weights and the pixel map that it implies.
  int64_t TapWeightOffset(const PhaseTriple& phase, int64_t index, PixelMap* map) const {
    const auto& [d, h, w] = phase.axes;
    const int64_t taps_w = static_cast<int64_t>(w->taps.size()), taps_h = static_cast<int64_t>(h->taps.size());
    const AxisTap* taps[3] = {&d->taps[index / (taps_w * taps_h)], &h->taps[index / taps_w % taps_h],
                              &w->taps[index % taps_w]};
    int64_t offset = 0;
    for (int axis = 0; axis < 3; ++axis) {
      offset += taps[axis]->kernel * p_.weight.strides[2 + axis];
      map->walk[axis] = phase.axes[axis]->walk;
      map->step[axis] = phase.axes[axis]->source_step;
      map->shift[axis] = taps[axis]->shift;
      map->size[axis] = s_.source_size_[axis];
      map->stride[axis] = s_.source_.strides[2 + axis];
    }
    map->batch_stride = s_.source_.strides[0];
    return offset;
  }

  PixelMap ResultMap(const PhaseTriple& phase) const {
    PixelMap map;
    for (int axis = 0; axis < 3; ++axis) {
      map.walk[axis] = phase.axes[axis]->walk;
      map.step[axis] = phase.axes[axis]->result_step;
      map.shift[axis] = phase.axes[axis]->result_shift;
      map.size[axis] = s_.result_size_[axis];
      map.stride[axis] = s_.result_.strides[2 + axis];
    }
    map.batch_stride = s_.result_.strides[0];
    return map;
  }

  // packed[k * width + j] = weight of result channel panel * width + j and term k = (tap, source channel).
  void PackWeights(int64_t group, int64_t phase_index, int64_t panel, int worker) {
    const PhaseTriple& phase = s_.phases_[phase_index];
    const JobScratch scratch = s_.scratch_.At(ledger_, workspace_, worker);
    const int64_t width = ChannelWidth();
    const int64_t first = panel * width, valid = std::min(width, s_.result_channels_ - first);
    const int64_t group_offset = group * p_.geometry.group_output_channels() * p_.weight.strides[0];
    float* packed = PackedPanel(group, phase, panel);
    bool nonfinite = false;
    PixelMap unused;
    for (int64_t tap = 0; tap < phase.taps; ++tap) {
      const int64_t offset = group_offset + TapWeightOffset(phase, tap, &unused) + first * s_.weight_result_stride_;
      for (int64_t c = 0; c < s_.source_channels_;) {
        const int64_t count = std::min(s_.blocking_.depth, s_.source_channels_ - c);
        const int64_t begin = offset + c * s_.weight_source_stride_;
        nonfinite |= s_.weight_result_stride_ == 1 ? PackWeightRows(begin, count, valid, packed)
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
      weight_.FetchRun(begin + k * s_.weight_source_stride_, valid, row);
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
        weight_.Fetch(begin + j * s_.weight_result_stride_, &line, 1, s_.weight_source_stride_, count, to_line);
        nonfinite |= kernels::Lines().any_nonfinite(to_line, count);
      } else {
        std::memset(to_line, 0, static_cast<size_t>(count) * sizeof(float));
      }
      if (j % 4 == 3) kernels::Lines().interleave4(scratch.lines, count, ChannelWidth(), to + j - 3);
    }
    return nonfinite;
  }

  // to[(k - begin) * width + j] = source under pixel first + j, for terms k in [begin, begin + count).
  void PackPixels(int64_t group, const PhaseTriple& phase, int64_t first, int64_t begin, int64_t count,
                  const JobScratch& scratch, float* to) const {
    const int64_t width = PixelWidth(), valid = std::min(width, phase.pixels - first);
    const int64_t group_offset = group * s_.source_channels_ * s_.source_.strides[1];
    for (int64_t k = begin; k < begin + count;) {
      const int64_t tap = k / s_.source_channels_, c = k % s_.source_channels_;
      const int64_t channels = std::min(s_.source_channels_ - c, begin + count - k);
      PixelMap map;
      TapWeightOffset(phase, tap, &map);
      const int64_t segments = BuildSegments(map, first, valid, scratch.segments);
      const int64_t offset = group_offset + c * s_.source_.strides[1];
      if (s_.channel_lines_) {
        PackChannelLines(map, segments, offset, channels, scratch, to);
      } else {
        for (int64_t i = 0; i < channels; ++i) {
          source_.Fetch(offset + i * s_.source_.strides[1], scratch.segments, segments, map.element_step(), width,
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
                                  [](int64_t job, const PhaseTriple& phase) { return job < phase.first_job; });
    const PhaseTriple& phase = *(after - 1);
    index -= phase.first_job;
    const int64_t channel_block = index % s_.channel_blocks_, pixel_block = index / s_.channel_blocks_;
    const JobScratch scratch = s_.scratch_.At(ledger_, workspace_, worker);
    const int64_t channel_step = s_.pixels_are_lanes_ ? s_.blocking_.row_panels : s_.blocking_.lane_panels;
    const int64_t pixel_step = s_.pixels_are_lanes_ ? s_.blocking_.lane_panels : s_.blocking_.row_panels;
    const int64_t channel_first = channel_block * channel_step, pixel_first = pixel_block * pixel_step;
    const int64_t channel_count = std::min(channel_step, s_.channel_panels_ - channel_first);
    const int64_t pixel_panels = (phase.pixels + PixelWidth() - 1) / PixelWidth();
    const int64_t pixel_count = std::min(pixel_step, pixel_panels - pixel_first);
    const int64_t depth = phase.taps * s_.source_channels_;
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
  void StorePixelLanes(int64_t group, const PhaseTriple& phase, int64_t channel_first, int64_t channel_count,
                       int64_t pixel_first, int64_t pixel_count, const JobScratch& scratch) const {
    const PixelMap map = ResultMap(phase);
    const int64_t rows = s_.tile_.rows, lanes = s_.tile_.lanes;
    const int64_t last = std::min((channel_first + channel_count) * rows, s_.result_channels_);
    for (int64_t l = 0; l < pixel_count; ++l) {
      const int64_t first = (pixel_first + l) * lanes, valid = std::min(lanes, phase.pixels - first);
      const int64_t segments = BuildSegments(map, first, valid, scratch.segments);
      for (int64_t channel = channel_first * rows; channel < last; ++channel) {
        float* line = scratch.tiles + l * channel_count * rows * lanes + (channel - channel_first * rows) * lanes;
        const int64_t whole = group * s_.result_channels_ + channel;
        if (p_.has_bias) {
          const float bias = LoadBias(p_, b_, whole);
          for (int64_t i = 0; i < valid; ++i) line[i] += bias;
        }
        result_.Store(whole * s_.result_.strides[1], scratch.segments, segments, map.element_step(), line);
      }
    }
  }

  // Tile rows are pixels: a row is a line of channels.
  void StoreChannelLanes(int64_t group, const PhaseTriple& phase, int64_t channel_first, int64_t channel_count,
                         int64_t pixel_first, int64_t pixel_count, const JobScratch& scratch) const {
    const PixelMap map = ResultMap(phase);
    const int64_t rows = s_.tile_.rows, lanes = s_.tile_.lanes;
    for (int64_t r = 0; r < pixel_count; ++r) {
      const int64_t first = (pixel_first + r) * rows, valid = std::min(rows, phase.pixels - first);
      for (int64_t i = 0; i < valid; ++i) {
        kernels::Segment pixel;
        BuildSegments(map, first + i, 1, &pixel);
        for (int64_t l = 0; l < channel_count; ++l) {
          const int64_t channel = (channel_first + l) * lanes, count = std::min(lanes, s_.result_channels_ - channel);
          const int64_t whole = group * s_.result_channels_ + channel;
          float* line = scratch.tiles + ((l * pixel_count + r) * rows + i) * lanes;
          if (p_.has_bias) {
            for (int64_t c = 0; c < count; ++c) line[c] += LoadBias(p_, b_, whole + c);
          }
          const kernels::Segment channels{pixel.source, 0, static_cast<int32_t>(count)};
          result_.Store(whole * s_.result_.strides[1], &channels, 1, s_.result_.strides[1], line);
        }
      }
    }
  }

  // Whole rows of the result; the phases then overwrite what they reach.
  void FillGaps(int64_t row) const {
    const int64_t channels = s_.result_channels_ * p_.geometry.groups;
    const int64_t n = row / channels, channel = row % channels;
    const float value = p_.has_bias ? LoadBias(p_, b_, channel) : 0;
    const Extent3& size = s_.result_size_;
    const auto& strides = s_.result_.strides;
    const kernels::Segment one{0, 0, 1};
    for (int64_t d = 0; d < size[0]; ++d) {
      for (int64_t h = 0; h < size[1]; ++h) {
        const int64_t offset = n * strides[0] + channel * strides[1] + d * strides[2] + h * strides[3];
        for (int64_t w = 0; w < size[2]; ++w) result_.Store(offset + w * strides[4], &one, 1, 1, &value);
      }
    }
  }

  const ActivationStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  const plan::WorkspaceLedger& ledger_;
  void* workspace_;
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
