// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "base/checked_math.h"
#include "conv/nonfinite.h"
#include "conv/shifted_slab/step.h"
#include "conv/tensor_lines.h"
#include "exec/pool.h"

namespace canopy::conv::shifted_slab {

// What one job computes: result channels [panel_first, panel_first + panels) of the positions of `images` images.
struct JobPlace {
  int64_t group = 0;
  const PhaseShape* phase = nullptr;
  int64_t panel_first = 0, panels = 0;
  int64_t depth = 0;
  int64_t image_first = 0, images = 0;
  int64_t row_first = 0, rows = 0;
  int64_t column_first = 0, columns = 0;
  int64_t positions = 0;
};

// One run of one step: its buffers with the plan's numbers.
class SlabRun {
 public:
  SlabRun(const SlabStep& step, const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
          void* workspace)
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
    const SlabScratch scratch = s_.ScratchAt(ledger_, workspace_, worker);
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

  JobPlace Place(int64_t group, int64_t index) const {
    const auto after = std::upper_bound(s_.phases_.begin(), s_.phases_.end(), index,
                                        [](int64_t job, const PhaseShape& phase) { return job < phase.first_job; });
    JobPlace place;
    place.group = group;
    place.phase = &*(after - 1);
    const PhaseShape& phase = *place.phase;
    index -= phase.first_job;
    const auto next = [&index](int64_t count) {
      const int64_t at = index % count;
      index /= count;
      return at;
    };
    place.panel_first = next(s_.row_blocks_) * s_.block_panels_;
    place.panels = std::min(s_.block_panels_, s_.row_panels_ - place.panel_first);
    place.column_first = next(phase.column_blocks) * phase.columns;
    place.columns = std::min(phase.columns, phase.axes[2]->walk - place.column_first);
    place.row_first = next(phase.row_blocks) * phase.rows;
    place.rows = std::min(phase.rows, phase.axes[1]->walk - place.row_first);
    place.depth = next(phase.axes[0]->walk);
    place.image_first = index * phase.images;
    place.images = std::min(phase.images, p_.geometry.batch - place.image_first);
    place.positions = ((place.images - 1) * phase.image_rows + place.rows - 1) * phase.pitch + place.columns;
    return place;
  }

  void Job(int64_t group, int64_t index, int worker) const {
    const JobPlace place = Place(group, index);
    const PhaseShape& phase = *place.phase;
    const SlabScratch scratch = s_.ScratchAt(ledger_, workspace_, worker);
    const kernels::GemmTile& tile = s_.tile_;
    const int64_t tile_elems = int64_t{tile.rows} * tile.lanes;
    const int64_t lane_panels = base::CeilDiv(place.positions, tile.lanes);
    if (s_.source_channels_ == 0) {
      std::memset(scratch.tiles, 0, static_cast<size_t>(lane_panels * place.panels * tile_elems) * sizeof(float));
    }
    for (int64_t c = 0; c < s_.source_channels_; c += s_.chunk_) {
      const int64_t count = std::min(s_.chunk_, s_.source_channels_ - c);
      const int64_t taps = ListTaps(place, count, scratch.taps);
      LoadSlab(place, c, count, scratch);
      for (int64_t r = 0; r < place.panels; ++r) {
        const float* weights = PackedPanel(group, phase, place.panel_first + r) + c * phase.tap_count() * tile.rows;
        for (int64_t l = 0; l < lane_panels; ++l) {
          tile.run_taps({scratch.taps, taps, count, weights, scratch.slab + l * tile.lanes, phase.channel_elems},
                        scratch.tiles + (l * place.panels + r) * tile_elems, c > 0);
        }
      }
    }
    Store(place, lane_panels, scratch);
  }

  // The taps whose depth exists: the others' planes are padding throughout, so they have no term.
  int64_t ListTaps(const JobPlace& place, int64_t channels, kernels::GemmTap* taps) const {
    const PhaseShape& phase = *place.phase;
    int64_t listed = 0, index = 0, plane_d = 0;
    for (const AxisTaps::Tap& d : phase.taps[0].taps) {
      const bool exists = SourceDepth(place, d) >= 0;
      for (const AxisTaps::Tap& h : phase.taps[1].taps) {
        for (const AxisTaps::Tap& w : phase.taps[2].taps) {
          const int64_t plane = PlaneIndex(phase, plane_d, h.residue_index, w.residue_index);
          if (exists) {
            taps[listed++] = {index * channels * s_.tile_.rows,
                              plane * phase.plane_elems + h.shift * phase.pitch + w.shift};
          }
          ++index;
        }
      }
      ++plane_d;
    }
    return listed;
  }

  static int64_t PlaneIndex(const PhaseShape& phase, int64_t d, int64_t h, int64_t w) {
    return (d * static_cast<int64_t>(phase.taps[1].residues.size()) + h) *
               static_cast<int64_t>(phase.taps[2].residues.size()) +
           w;
  }

  // -1: outside the tensor.
  int64_t SourceDepth(const JobPlace& place, const AxisTaps::Tap& tap) const {
    const AxisTaps& taps = place.phase->taps[0];
    const int64_t at = (place.depth + taps.least_shift + tap.shift) * taps.step + taps.residues[tap.residue_index];
    return at >= 0 && at < s_.source_size_[0] ? at : -1;
  }

  void LoadSlab(const JobPlace& place, int64_t first_channel, int64_t channels, const SlabScratch& scratch) const {
    const PhaseShape& phase = *place.phase;
    const AxisTaps &h_taps = phase.taps[1], &w_taps = phase.taps[2];
    int64_t plane_d = 0;
    for (const AxisTaps::Tap& d : phase.taps[0].taps) {
      const int64_t depth = SourceDepth(place, d);
      for (size_t h = 0; depth >= 0 && h < h_taps.residues.size(); ++h) {
        for (size_t w = 0; w < w_taps.residues.size(); ++w) {
          float* to = scratch.slab +
                      PlaneIndex(phase, plane_d, static_cast<int64_t>(h), static_cast<int64_t>(w)) * phase.plane_elems;
          const int64_t offset = (place.group * s_.source_channels_ + first_channel) * s_.source_.strides[1] +
                                 depth * s_.source_.strides[2];
          LoadPlanes(place, offset, channels, h_taps.residues[h], w_taps.residues[w], to);
        }
      }
      ++plane_d;
    }
  }

  // One residue plane of every channel, image and row.
  void LoadPlanes(const JobPlace& place, int64_t offset, int64_t channels, int64_t h_residue, int64_t w_residue,
                  float* to) const {
    const PhaseShape& phase = *place.phase;
    const AxisTaps &h_taps = phase.taps[1], &w_taps = phase.taps[2];
    const int64_t length = std::max(phase.pitch, w_taps.Extent(place.columns));
    // Position x of a row stands for coordinate (first_w + x) * step + residue.
    const int64_t first_w = place.column_first + w_taps.least_shift;
    const int64_t low = std::clamp<int64_t>(
        first_w * w_taps.step + w_residue >= 0 ? 0 : base::CeilDiv(-w_residue - first_w * w_taps.step, w_taps.step), 0,
        length);
    const int64_t past = s_.source_size_[2] - w_residue - first_w * w_taps.step;
    const int64_t high = std::clamp<int64_t>(past <= 0 ? 0 : base::CeilDiv(past, w_taps.step), low, length);
    const kernels::Segment segment{((first_w + low) * w_taps.step + w_residue) * s_.source_.strides[4],
                                   static_cast<int32_t>(low), static_cast<int32_t>(high - low)};
    const int64_t segments = high > low ? 1 : 0;
    const int64_t rows = h_taps.Extent(place.rows);
    for (int64_t c = 0; c < channels; ++c) {
      float* plane = to + c * phase.channel_elems;
      // Ascending: what a line writes past its end is the next line's to write.
      for (int64_t n = 0; n < place.images; ++n) {
        for (int64_t row = 0; row < rows; ++row) {
          const int64_t h = (place.row_first + row + h_taps.least_shift) * h_taps.step + h_residue;
          float* line = plane + (n * phase.image_rows + row) * phase.pitch;
          if (segments == 0 || h < 0 || h >= s_.source_size_[1]) {
            std::fill(line, line + length, 0.0f);
            continue;
          }
          source_.Fetch(offset + c * s_.source_.strides[1] + (place.image_first + n) * s_.source_.strides[0] +
                            h * s_.source_.strides[3],
                        &segment, segments, w_taps.step * s_.source_.strides[4], length, line);
        }
      }
    }
  }

  float Bias(int64_t channel) const {
    const char* address =
        static_cast<const char*>(b_.bias) + channel * p_.bias.strides[1] * numerics::ElementBytes(p_.bias.dtype);
    return numerics::LoadElement(address, p_.bias.dtype);
  }

  void Store(const JobPlace& place, int64_t lane_panels, const SlabScratch& scratch) const {
    const int64_t rows = s_.tile_.rows, lanes = s_.tile_.lanes;
    const int64_t first = place.panel_first * rows;
    const int64_t last = std::min(first + place.panels * rows, s_.result_channels_);
    const int64_t step = place.phase->axes[2]->result_step * s_.result_.strides[4];
    for (int64_t l = 0; l < lane_panels; ++l) {
      const int64_t begin = l * lanes, count = std::min(lanes, place.positions - begin);
      const int64_t segments = ResultSegments(place, begin, count, scratch.segments);
      for (int64_t channel = first; channel < last; ++channel) {
        float* line = scratch.tiles + l * place.panels * rows * lanes + (channel - first) * lanes;
        const int64_t whole = place.group * s_.result_channels_ + channel;
        if (p_.has_bias) {
          const float bias = Bias(whole);
          for (int64_t i = 0; i < count; ++i) line[i] += bias;
        }
        result_.Store(whole * s_.result_.strides[1], scratch.segments, segments, step, line);
      }
    }
  }

  // Where positions [begin, begin + count) of the job go; those between rows and images go nowhere.
  int64_t ResultSegments(const JobPlace& place, int64_t begin, int64_t count, kernels::Segment* segments) const {
    const PhaseShape& phase = *place.phase;
    const auto coordinate = [&phase](int axis, int64_t walked) {
      return walked * phase.axes[axis]->result_step + phase.axes[axis]->result_shift;
    };
    const auto& strides = s_.result_.strides;
    int64_t made = 0;
    for (int64_t at = begin; at < begin + count;) {
      const int64_t flat_row = at / phase.pitch, w = at % phase.pitch;
      const int64_t n = flat_row / phase.image_rows, h = flat_row % phase.image_rows;
      const int64_t end = std::min(begin + count, (flat_row + 1) * phase.pitch);
      const int64_t columns = std::min(end - at, place.columns - w);
      if (columns > 0 && h < place.rows && n < place.images) {
        segments[made++] = {(place.image_first + n) * strides[0] + coordinate(0, place.depth) * strides[2] +
                                coordinate(1, place.row_first + h) * strides[3] +
                                coordinate(2, place.column_first + w) * strides[4],
                            static_cast<int32_t>(at - begin), static_cast<int32_t>(columns)};
      }
      at = end;
    }
    return made;
  }

  const SlabStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  const plan::WorkspaceLedger& ledger_;
  void* workspace_;
  LineReader source_, weight_;
  LineWriter result_;
  float* packed_;
  std::atomic<int>* nonfinite_;
};

void SlabStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  SlabRun(*this, problem, buffers, ledger, workspace).Run();
}

}  // namespace canopy::conv::shifted_slab
