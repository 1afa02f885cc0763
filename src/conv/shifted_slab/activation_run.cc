// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "base/checked_math.h"
#include "conv/nonfinite.h"
#include "conv/shifted_slab/activation_step.h"
#include "conv/shifted_slab/load.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"

namespace canopy::conv::shifted_slab {

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
    const bool nonfinite = nonfinite_->load(std::memory_order_relaxed) != 0;
    if (nonfinite) {
      weight_.TakeFiniteOnly();
      PackAllWeights(serial);
    }
    exec::ParallelFor(groups * s_.jobs_, serial,
                      [this](int64_t index, int worker) { Job(index / s_.jobs_, index % s_.jobs_, worker); });
    if (nonfinite) AddNonfiniteWeightTerms(p_, s_.forward_ ? kForward : kBackwardData, b_, serial);
  }

 private:
  void PackAllWeights(bool serial) {
    const int64_t phases = static_cast<int64_t>(s_.phases_.size());
    exec::ParallelFor(p_.geometry.groups * phases * s_.row_panels_, serial, [this, phases](int64_t index, int worker) {
      const int64_t panel = index % s_.row_panels_, rest = index / s_.row_panels_;
      PackWeights(rest / phases, s_.phases_[rest % phases], panel, worker);
    });
  }

  float* PackedPanel(int64_t group, const PhaseShape& phase, int64_t panel) const {
    return packed_ + group * s_.packed_floats_ + phase.packed_offset +
           panel * s_.tile_.rows * phase.tap_count() * s_.source_channels_;
  }

  // packed[(first channel of chunk * taps + tap * channels of chunk + channel in chunk) * rows + j] = weight of result
  // channel panel * rows + j.
  void PackWeights(int64_t group, const PhaseShape& phase, int64_t panel, int worker) {
    const ActivationScratch scratch = s_.ScratchAt(ledger_, workspace_, worker);
    const int64_t rows = s_.tile_.rows, first = panel * rows;
    const int64_t base = group * p_.geometry.group_output_channels() * p_.weight.strides[0];
    float* packed = PackedPanel(group, phase, panel);
    bool nonfinite = false;
    for (int64_t c = 0; c < s_.source_channels_; c += s_.chunk_) {
      const int64_t count = std::min(s_.chunk_, s_.source_channels_ - c);
      const kernels::Segment line{0, 0, static_cast<int32_t>(count)};
      ForEachTap(phase, [&](const AxisTaps::Tap& d, const AxisTaps::Tap& h, const AxisTaps::Tap& w) {
        const int64_t offset = base + c * s_.weight_source_stride_ + d.kernel * p_.weight.strides[2] +
                               h.kernel * p_.weight.strides[3] + w.kernel * p_.weight.strides[4];
        for (int64_t j = 0; j < rows; ++j) {
          float* to = scratch.lines[j % 4];
          if (first + j < s_.result_channels_) {
            weight_.Fetch(offset + (first + j) * s_.weight_result_stride_, &line, 1, s_.weight_source_stride_, count,
                          to);
            nonfinite |= kernels::Lines().any_nonfinite(to, count);
          } else {
            std::memset(to, 0, static_cast<size_t>(count) * sizeof(float));
          }
          if (j % 4 == 3) kernels::Lines().interleave4(scratch.lines, count, rows, packed + j - 3);
        }
        packed += count * rows;
      });
    }
    if (nonfinite) nonfinite_->store(1, std::memory_order_relaxed);
  }

  template <class F>
  static void ForEachTap(const PhaseShape& phase, const F& visit) {
    for (const AxisTaps::Tap& d : phase.taps[0].taps) {
      for (const AxisTaps::Tap& h : phase.taps[1].taps) {
        for (const AxisTaps::Tap& w : phase.taps[2].taps) visit(d, h, w);
      }
    }
  }

  const PhaseShape& PhaseOf(int64_t job) const {
    const auto after = std::upper_bound(s_.phases_.begin(), s_.phases_.end(), job,
                                        [](int64_t at, const PhaseShape& phase) { return at < phase.first_job; });
    return *(after - 1);
  }

  void Job(int64_t group, int64_t index, int worker) const {
    const PhaseShape& phase = PhaseOf(index);
    index -= phase.first_job;
    const int64_t panel_first = index % s_.row_blocks_ * s_.block_panels_;
    const int64_t panels = std::min(s_.block_panels_, s_.row_panels_ - panel_first);
    const Place place = PlaceAt(phase, p_.geometry.batch, index / s_.row_blocks_);
    const ActivationScratch scratch = s_.ScratchAt(ledger_, workspace_, worker);
    const kernels::GemmTile& tile = s_.tile_;
    const int64_t tile_elems = int64_t{tile.rows} * tile.lanes;
    const int64_t lane_panels = base::CeilDiv(place.positions, tile.lanes);
    const SlabSource source(source_, s_.source_, s_.source_size_);
    if (s_.source_channels_ == 0) {
      std::memset(scratch.tiles, 0, static_cast<size_t>(lane_panels * panels * tile_elems) * sizeof(float));
    }
    for (int64_t c = 0; c < s_.source_channels_; c += s_.chunk_) {
      const int64_t count = std::min(s_.chunk_, s_.source_channels_ - c);
      const int64_t taps = ListTaps(source, phase, place, count, scratch.taps);
      source.Load(phase, place, group * s_.source_channels_ + c, count, scratch.slab);
      for (int64_t r = 0; r < panels; ++r) {
        const float* weights = PackedPanel(group, phase, panel_first + r) + c * phase.tap_count() * tile.rows;
        for (int64_t l = 0; l < lane_panels; ++l) {
          tile.run_taps({scratch.taps, taps, count, weights, scratch.slab + l * tile.lanes, phase.channel_elems},
                        scratch.tiles + (l * panels + r) * tile_elems, c > 0);
        }
      }
    }
    Store(phase, place, group, panel_first, panels, scratch);
  }

  int64_t ListTaps(const SlabSource& source, const PhaseShape& phase, const Place& place, int64_t channels,
                   kernels::GemmTap* taps) const {
    int64_t listed = 0, index = 0, plane_d = 0;
    for (const AxisTaps::Tap& d : phase.taps[0].taps) {
      const bool exists = source.HasDepth(phase, place, d);
      for (const AxisTaps::Tap& h : phase.taps[1].taps) {
        for (const AxisTaps::Tap& w : phase.taps[2].taps) {
          if (exists) taps[listed++] = {index * channels * s_.tile_.rows, phase.TapOffset(plane_d, h, w)};
          ++index;
        }
      }
      ++plane_d;
    }
    return listed;
  }

  float Bias(int64_t channel) const {
    const char* address =
        static_cast<const char*>(b_.bias) + channel * p_.bias.strides[1] * numerics::ElementBytes(p_.bias.dtype);
    return numerics::LoadElement(address, p_.bias.dtype);
  }

  void Store(const PhaseShape& phase, const Place& place, int64_t group, int64_t panel_first, int64_t panels,
             const ActivationScratch& scratch) const {
    const int64_t rows = s_.tile_.rows, lanes = s_.tile_.lanes;
    const int64_t first = panel_first * rows, last = std::min(first + panels * rows, s_.result_channels_);
    PositionStrides strides;
    strides.image = s_.result_.strides[0];
    for (int axis = 0; axis < 3; ++axis) {
      strides.step[axis] = phase.axes[axis]->result_step;
      strides.shift[axis] = phase.axes[axis]->result_shift;
      strides.stride[axis] = s_.result_.strides[2 + axis];
    }
    for (int64_t begin = 0; begin < place.positions; begin += lanes) {
      const int64_t count = std::min(lanes, place.positions - begin);
      const int64_t segments = PositionSegments(phase, place, strides, begin, count, scratch.segments);
      for (int64_t channel = first; channel < last; ++channel) {
        float* line = scratch.tiles + begin * panels * rows + (channel - first) * lanes;
        const int64_t whole = group * s_.result_channels_ + channel;
        if (p_.has_bias) {
          const float bias = Bias(whole);
          for (int64_t i = 0; i < count; ++i) line[i] += bias;
        }
        result_.Store(whole * s_.result_.strides[1], scratch.segments, segments, strides.element_step(), line);
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

}  // namespace canopy::conv::shifted_slab
