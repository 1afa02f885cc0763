// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "conv/nonfinite.h"
#include "conv/planes/data_step.h"
#include "exec/pool.h"
#include "kernels/planes/contract.h"

namespace canopy::conv::planes {

// One run of one step.
class DataRun {
 public:
  DataRun(const DataStep& step, const ConvProblem& problem, const Buffers& buffers, float* packed, plan::Shares scratch)
      : s_(step),
        p_(problem),
        b_(buffers),
        packed_(packed),
        scratch_(scratch),
        weight_(b_.weight, p_.weight.dtype, p_.rule),
        source_(s_.forward_ ? b_.input : b_.output, s_.forward_ ? p_.input : p_.output, p_.rule),
        result_(s_.forward_ ? b_.output_result : b_.input_result, s_.forward_ ? p_.output_result : p_.input_result,
                p_.rule.saturate) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    const bool nonfinite = sheets::FetchFiniteWeights(p_, &weight_, packed_);
    exec::ParallelFor(s_.image_blocks_ * s_.depths_ * s_.channel_blocks_, serial,
                      [this](int64_t index, int worker) { Job(index, scratch_.Of<float>(worker)); });
    if (nonfinite) AddNonfiniteWeightTerms(p_, s_.forward_ ? kForward : kBackwardData, b_, serial);
  }

 private:
  // The planes of one job, of which `channel` changes.
  struct Planes {
    int64_t first_image, images, depth, channel;
  };
  // Where a stencil's results go: rows, and the lanes of their last vectors.
  struct Results {
    float* first;
    int64_t row;
    int last_lanes;
  };
  struct Scratch {
    float *sheet, *results, *line;
  };

  void Job(int64_t index, float* memory) const {
    const Scratch scratch{memory, memory + s_.sheet_floats_, memory + s_.thread_floats_ - s_.line_floats_};
    Planes planes;
    const int64_t first = index % s_.channel_blocks_ * s_.channel_block_;
    const int64_t end = std::min(p_.geometry.groups, first + s_.channel_block_);
    index /= s_.channel_blocks_;
    planes.depth = index % s_.depths_;
    planes.first_image = index / s_.depths_ * s_.fold_.images;
    planes.images = std::min(s_.fold_.images, p_.geometry.batch - planes.first_image);
    std::memset(scratch.sheet, 0, static_cast<size_t>(s_.sheet_floats_) * sizeof(float));
    for (planes.channel = first; planes.channel < end; ++planes.channel) {
      for (int64_t a = 0; a < s_.rows_.results(); a += s_.band_) Band(planes, a, planes.channel + 1 < end, scratch);
    }
  }

  // Results [first, first + band).
  void Band(const Planes& planes, int64_t first, bool more, const Scratch& scratch) const {
    LoadBand(planes, first, scratch);
    if (more && s_.fold_.images > 1) PrefetchNext(planes, first);
    const int64_t end = std::min(s_.rows_.results(), first + s_.band_);
    if (StoresDirectly(planes, first, end, scratch)) return;
    for (int64_t a = first; a < end; a += s_.strip_) {
      const int64_t strip_end = std::min(end, a + s_.strip_);
      Stencil(planes, {a, strip_end}, a - first, scratch.sheet, {scratch.results, s_.result_row_, 0});
      for (int64_t i = 0; i < planes.images; ++i) {
        result_.Store(scratch.results + i * s_.fold_.image_pitch, nullptr, s_.result_row_, PartOf({a, strip_end}),
                      scratch.line, result_.PlaneAt(planes.first_image + i, planes.channel, planes.depth));
      }
    }
  }

  sheets::PlanePart PartOf(const depthwise::Range& results) const {
    return {results.begin, 1, results.size(), 0, s_.columns_.results()};
  }

  // Computes results [first, end) to where they belong; false: that takes more, and nothing was done.
  bool StoresDirectly(const Planes& planes, int64_t first, int64_t end, const Scratch& scratch) const {
    if (s_.fold_.images > 1 || s_.band_cut_.parts > 1) return false;
    const int64_t plane = result_.PlaneAt(planes.first_image, planes.channel, planes.depth);
    float* to = result_.Direct(plane, PartOf({first, end}));
    if (to == nullptr) return false;
    const int last_lanes = static_cast<int>(s_.columns_.results() % s_.lanes_);
    Stencil(planes, {first, end}, 0, scratch.sheet, {to, result_.row_stride(), last_lanes});
    return true;
  }

  void LoadBand(const Planes& planes, int64_t first, const Scratch& scratch) const {
    const depthwise::AxisLaw &rows = s_.rows_.law, &columns = s_.columns_.law;
    sheets::PlanePart part;
    part.first_row = std::clamp<int64_t>(first + rows.shift, 0, rows.source_size);
    part.rows = std::clamp(first + rows.shift + s_.sheet_rows_, part.first_row, rows.source_size) - part.first_row;
    part.first_column = columns.Sources().begin;
    part.columns = columns.Sources().size();
    float* const inside = scratch.sheet + (part.first_row - first - rows.shift) * s_.sheet_row_;
    if (s_.band_ < s_.rows_.results()) {  // the last band's rows lie where zeros belong
      std::fill(scratch.sheet, inside, 0.0f);
      std::fill(inside + part.rows * s_.sheet_row_, scratch.sheet + s_.sheet_floats_, 0.0f);
    }
    for (int64_t i = 0; i < planes.images; ++i) {
      const int64_t plane = source_.PlaneAt(planes.first_image + i, planes.channel, planes.depth);
      source_.Load(plane, part, s_.sheet_row_, scratch.line,
                   inside + s_.left_ + i * s_.fold_.image_pitch + part.first_column - columns.shift, nullptr);
    }
  }

  // The next channel's planes where they are small.
  void PrefetchNext(const Planes& planes, int64_t first) const {
    const depthwise::AxisLaw& rows = s_.rows_.law;
    sheets::PlanePart part;
    part.first_row = std::min(first, rows.source_size);
    part.rows = std::min(s_.band_, rows.source_size - part.first_row);
    part.columns = s_.columns_.law.source_size;
    for (int64_t i = 0; i < planes.images; ++i) {
      source_.Prefetch(source_.PlaneAt(planes.first_image + i, planes.channel + 1, planes.depth), part);
    }
  }

  StencilCut CutOf(int64_t results) const {
    if (results == s_.band_cut_.results) return s_.band_cut_;
    return results == s_.strip_cut_.results ? s_.strip_cut_ : s_.CutOf(results);
  }

  // `results`, which lie `at` rows below the sheet's first. On the way it asks for as many of the source's rows in the
  // next channel's plane, and for the results behind each block of rows.
  void Stencil(const Planes& planes, const depthwise::Range& results, int64_t at, const float* sheet,
               const Results& to) const {
    const kernels::PlaneKernels& kernels = kernels::Planes();
    const depthwise::AxisLaw &h = s_.rows_.law, &w = s_.columns_.law;
    const Geometry& g = p_.geometry;
    const StencilCut cut = CutOf(results.size());
    const float* taps = packed_ + planes.channel * g.taps() + h.taps.first * g.kernel[2] + w.taps.first;
    kernels::PlaneStencilCall call{};
    call.source_row = s_.sheet_row_;
    call.tap_row = h.taps.step * g.kernel[2];
    call.tap_column = w.taps.step;
    call.columns = w.taps.count;
    call.result_row = to.row;
    call.vectors = s_.vectors_;
    call.last_lanes = to.last_lanes;
    call.ahead_lines = cut.ahead_lines;
    call.ahead.read = source_.Address(source_.PlaneAt(planes.first_image, planes.channel + 1, planes.depth)) +
                      results.begin * s_.source_row_bytes_;
    call.ahead.write = result_.Address(result_.PlaneAt(planes.first_image, planes.channel, planes.depth)) +
                       (results.begin + cut.rows) * s_.result_row_bytes_;
    call.ahead.read_step = cut.read_step;
    call.ahead.write_step = cut.write_step;
    for (int64_t part = 0; part < cut.parts; ++part) {
      const int64_t i = part * h.taps.count / cut.parts, count = (part + 1) * h.taps.count / cut.parts - i;
      if (part > 0 && !MeetsSource(results, i, count)) continue;
      int rows = cut.rows;
      for (int64_t done = 0; done < results.size(); done += call.blocks * rows) {
        if (done > 0) rows = s_.CutOf(results.size() - done).rows;
        call.source = sheet + s_.left_ + (at + i + done) * s_.sheet_row_;
        call.taps = taps + i * call.tap_row;
        call.result = to.first + done * to.row;
        call.blocks = (results.size() - done) / rows;
        kernels.stencils[rows][count](call);
      }
      call.accumulate = true;
      call.ahead_lines = 0;
    }
  }

  // Whether taps [i, i + count) of some of the results lie inside the source.
  bool MeetsSource(const depthwise::Range& results, int64_t i, int64_t count) const {
    const depthwise::AxisLaw& h = s_.rows_.law;
    return results.begin + i + h.shift < h.source_size && results.end - 1 + i + count - 1 + h.shift >= 0;
  }

  const DataStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  float* packed_;
  plan::Shares scratch_;
  LineReader weight_;
  sheets::PlaneReader source_;
  sheets::PlaneWriter result_;
};

void DataStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                   void* workspace) const noexcept {
  DataRun(*this, problem, buffers, static_cast<float*>(ledger.Fetch(workspace, packed_handle_)),
          ledger.FetchEach(workspace, scratch_handle_))
      .Run();
}

}  // namespace canopy::conv::planes
