// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "conv/nonfinite.h"
#include "conv/planes/weights_step.h"
#include "exec/pool.h"
#include "kernels/planes/contract.h"

namespace canopy::conv::planes {
namespace {

constexpr int64_t kMostTerms = 256;  // of a sum before a second level

}  // namespace

// One run of one step.
class WeightsRun {
 public:
  WeightsRun(const WeightsStep& step, const ConvProblem& problem, const Buffers& buffers, float* partial,
             plan::Shares scratch, void* flag)
      : s_(step),
        p_(problem),
        b_(buffers),
        partial_(partial),
        scratch_(scratch),
        input_(b_.input, p_.input, p_.rule),
        output_(b_.output, p_.output, p_.rule),
        result_(b_.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        nonfinite_(new (flag) std::atomic<int>(0)) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    const auto take_finite = [this] {
      input_.TakeFiniteOnly();
      output_.TakeFiniteOnly();
    };
    RunPastNonfinite(
        p_, b_, serial, *nonfinite_, [&] { RunJobs(serial); }, take_finite);
  }

 private:
  struct Scratch {
    float *inputs, *output, *sums, *line;
  };
  struct Sheet {
    int64_t first_image, images, depth, channel;
  };

  void RunJobs(bool serial) const {
    const int64_t segments = s_.segments_;
    exec::ParallelFor(s_.channel_blocks_ * segments, serial, [&](int64_t index, int worker) {
      float* at = scratch_.Of<float>(worker);
      Scratch scratch;
      scratch.inputs = at;
      scratch.output = at + static_cast<int64_t>(s_.rows_.size() * s_.columns_.size()) * s_.input_floats_;
      scratch.sums = scratch.output + s_.output_floats_;
      scratch.line = scratch.sums + s_.sums_floats_;
      Job(index / segments, index % segments, scratch);
    });
    for (int64_t c = 0; c < p_.geometry.groups; ++c) Finish(c);
  }

  Sheet SheetAt(int64_t item, int64_t channel) const {
    const int64_t depths = p_.geometry.output_size[0];
    const int64_t first = item / depths * s_.fold_.images;
    return {first, std::min(s_.fold_.images, p_.geometry.batch - first), item % depths, channel};
  }

  void Job(int64_t block, int64_t segment, const Scratch& scratch) const {
    const int64_t first = block * s_.channel_block_, end = std::min(p_.geometry.groups, first + s_.channel_block_);
    const int64_t taps = p_.geometry.taps();
    std::memset(scratch.inputs, 0, static_cast<size_t>(scratch.line - scratch.inputs) * sizeof(float));
    const int64_t last = (segment + 1) * s_.items_ / s_.segments_;
    for (int64_t item = segment * s_.items_ / s_.segments_; item < last; ++item) {
      for (int64_t c = first; c < end; ++c) {
        const bool same = c + 1 < end;
        const Sheet next = SheetAt(same || item + 1 == last ? item : item + 1, same ? c + 1 : first);
        AddSheet(SheetAt(item, c), next, scratch, scratch.sums + (c - first) * taps * s_.lanes_);
      }
    }
    kernels::Planes().reduce(scratch.sums, (end - first) * taps,
                             partial_ + (segment * p_.geometry.groups + first) * taps);
  }

  void AddSheet(const Sheet& sheet, const Sheet& next, const Scratch& scratch, float* sums) const {
    LoadInput(sheet, scratch);
    LoadOutput(sheet, scratch);
    if (s_.fold_.images > 1) Prefetch(next);
    const int64_t passes = static_cast<int64_t>(s_.passes_.size());
    for (int64_t i = 0; i < passes; ++i) {
      AddPass(s_.passes_[static_cast<size_t>(i)], scratch, AheadOf(next, i, passes), sums);
    }
  }

  void LoadInput(const Sheet& sheet, const Scratch& scratch) const {
    const Geometry& g = p_.geometry;
    for (int64_t image = 0; image < sheet.images; ++image) {
      const int64_t plane = input_.PlaneAt(sheet.first_image + image, sheet.channel, sheet.depth);
      for (int64_t r = 0; r < g.stride[1]; ++r) {
        if (s_.rows_[static_cast<size_t>(r)].offsets == 0) continue;
        const sheets::PlanePart part{r, g.stride[1], s_.rows_[static_cast<size_t>(r)].input, 0, g.input_size[2]};
        float* to = scratch.inputs + r * g.stride[2] * s_.input_floats_ + image * s_.fold_.image_pitch + s_.left_;
        input_.Load(plane, part, s_.input_row_, scratch.line, to, g.stride[2] == 2 ? to + s_.input_floats_ : nullptr);
      }
    }
  }

  void LoadOutput(const Sheet& sheet, const Scratch& scratch) const {
    const Geometry& g = p_.geometry;
    float* inside = scratch.output + s_.above_ * s_.output_row_;
    if (sheet.images < s_.fold_.images) {  // no images where others were
      std::memset(scratch.output, 0, static_cast<size_t>(s_.output_floats_) * sizeof(float));
    }
    for (int64_t image = 0; image < sheet.images; ++image) {
      const int64_t plane = output_.PlaneAt(sheet.first_image + image, sheet.channel, sheet.depth);
      output_.Load(plane, {0, 1, g.output_size[1], 0, g.output_size[2]}, s_.output_row_, scratch.line,
                   inside + image * s_.fold_.image_pitch, nullptr);
    }
  }

  // The next sheet's planes where they are small.
  void Prefetch(const Sheet& sheet) const {
    const Geometry& g = p_.geometry;
    for (int64_t image = sheet.first_image; image < sheet.first_image + sheet.images; ++image) {
      output_.Prefetch(output_.PlaneAt(image, sheet.channel, sheet.depth),
                       {0, 1, g.output_size[1], 0, g.output_size[2]});
      input_.Prefetch(input_.PlaneAt(image, sheet.channel, sheet.depth), {0, 1, g.input_size[1], 0, g.input_size[2]});
    }
  }

  // The share of the next sheet's planes that pass `index` of `passes` asks for.
  kernels::Ahead AheadOf(const Sheet& sheet, int64_t index, int64_t passes) const {
    kernels::Ahead ahead;
    if (s_.fold_.images > 1) return ahead;
    const Pass& pass = s_.passes_[static_cast<size_t>(index)];
    const int64_t steps = (pass.end_row - pass.first_row) * (pass.end_vector - pass.first_vector);
    const int64_t input = p_.geometry.input_size[1] * input_.row_bytes();
    const int64_t output = p_.geometry.output_size[1] * output_.row_bytes();
    ahead.read = input_.Address(input_.PlaneAt(sheet.first_image, sheet.channel, sheet.depth)) + index * input / passes;
    ahead.read_step = input / passes / steps + 1;
    ahead.write =
        output_.Address(output_.PlaneAt(sheet.first_image, sheet.channel, sheet.depth)) + index * output / passes;
    ahead.write_step = output / passes / steps + 1;
    return ahead;
  }

  void AddPass(const Pass& pass, const Scratch& scratch, const kernels::Ahead& ahead, float* sums) const {
    const Geometry& g = p_.geometry;
    const sheets::Residue& h = s_.rows_[static_cast<size_t>(pass.row_residue)];
    const sheets::Residue& w = s_.columns_[static_cast<size_t>(pass.column_residue)];
    const int64_t row = h.kernel + pass.row * g.stride[1], column = w.kernel + pass.column * g.stride[2];
    const float* x = scratch.inputs + (pass.row_residue * g.stride[2] + pass.column_residue) * s_.input_floats_ +
                     s_.left_ + w.first + pass.column;
    const float* output = scratch.output + s_.above_ * s_.output_row_;
    kernels::PlaneSumsCall call;
    call.ahead = ahead;
    call.x_row = s_.input_row_;
    call.g_row = s_.output_row_;
    call.sums = sums + (row * g.kernel[2] + column) * s_.lanes_;
    call.sums_row = g.stride[1] * g.kernel[2] * s_.lanes_;
    call.sums_column = g.stride[2] * s_.lanes_;
    for (int64_t v = pass.first_vector; v < pass.end_vector; v += call.vectors) {
      call.vectors = std::min(kMostTerms, pass.end_vector - v);
      const int64_t most = std::max<int64_t>(1, kMostTerms / call.vectors);
      for (int64_t y = pass.first_row; y < pass.end_row; y += call.rows) {
        call.rows = std::min(most, pass.end_row - y);
        call.x = x + y * s_.input_row_ + v * s_.lanes_;
        call.g = output + (y - h.first - pass.row) * s_.output_row_ + v * s_.lanes_;
        kernels::Planes().sums[pass.rows][pass.columns](call);
        call.ahead.read += call.rows * call.vectors * call.ahead.read_step;
        call.ahead.write += call.rows * call.vectors * call.ahead.write_step;
      }
    }
  }

  // Adds up the segments of a channel, in their order.
  void Finish(int64_t channel) const {
    const Geometry& g = p_.geometry;
    const auto& strides = p_.weight_result.strides;
    const int64_t taps = g.taps(), all = g.groups * taps;
    float* sums = partial_ + channel * taps;
    for (int64_t segment = 1; segment < s_.segments_; ++segment) {
      for (int64_t t = 0; t < taps; ++t) sums[t] += sums[segment * all + t];
    }
    if (kernels::Lines().any_nonfinite(sums, taps)) nonfinite_->store(1, std::memory_order_relaxed);
    const bool dense = strides[3] == g.kernel[2] * strides[4];
    const int64_t rows = dense ? 1 : g.kernel[1], columns = taps / rows;
    const kernels::Segment whole{0, 0, static_cast<int32_t>(columns)};
    for (int64_t r = 0; r < rows; ++r) {
      result_.Store(channel * strides[0] + r * strides[3], &whole, 1, strides[4], sums + r * columns);
    }
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  float* partial_;
  plan::Shares scratch_;
  sheets::PlaneReader input_, output_;
  LineWriter result_;
  std::atomic<int>* nonfinite_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  WeightsRun(*this, problem, buffers, static_cast<float*>(ledger.Fetch(workspace, partial_handle_)),
             ledger.FetchEach(workspace, scratch_handle_), ledger.Fetch(workspace, flag_handle_))
      .Run();
}

}  // namespace canopy::conv::planes
