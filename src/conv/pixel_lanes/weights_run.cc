// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "base/checked_math.h"
#include "conv/nonfinite.h"
#include "conv/pixel_lanes/weights_step.h"
#include "conv/sheets/pattern_planes.h"
#include "conv/sheets/sheet.h"
#include "exec/pool.h"
#include "kernels/dots/contract.h"

namespace canopy::conv::pixel_lanes {
namespace {

constexpr int64_t kMostVectors = 256;  // terms of a sum before a second level

}  // namespace

// A sheet's numbers: floats, or BF16 patterns.
template <class T>
struct SheetsOf;

template <>
struct SheetsOf<float> {
  using Reader = sheets::PlaneReader;
  static float Sum(const float* numbers, int64_t count) { return kernels::Lines().sum(numbers, count); }
};

template <>
struct SheetsOf<uint16_t> {
  using Reader = sheets::PatternPlanes;
  static float Sum(const uint16_t* numbers, int64_t count) { return kernels::Lines().sum_bf16(numbers, count); }
};

// One run of one step.
template <class T>
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
        bias_(s_.bias_),
        result_(b_.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        nonfinite_(new (flag) std::atomic<int>(0)) {}

  void Run() {
    const bool serial = s_.work_ < kSerialWork;
    const auto take_finite = [this] {
      bias_ = false;  // it is right already
      input_.TakeFiniteOnly();
      output_.TakeFiniteOnly();
    };
    RunPastNonfinite(
        p_, b_, serial, *nonfinite_, [&] { RunJobs(serial); }, take_finite);
  }

 private:
  using Sheets = SheetsOf<T>;

  struct Scratch {
    T *outputs, *inputs;
    float *sums, *line, *bias;
  };
  struct Sheet {
    int64_t group, first_image, images, depth, first_row, rows;
  };
  // A group's planes in memory, to be asked for while others are multiplied: `bytes` of each.
  struct Wanted {
    const char* first;
    int64_t plane_bytes, bytes;
  };

  int64_t Taps() const { return s_.sources_ * p_.geometry.taps(); }  // of a result channel

  void RunJobs(bool serial) const {
    const int64_t segments = s_.segments_;
    exec::ParallelFor(p_.geometry.groups * segments, serial, [&](int64_t index, int worker) {
      Scratch scratch;
      scratch.outputs = scratch_.Of<T>(worker);
      scratch.inputs = scratch.outputs + s_.results_ * s_.output_elements_;
      scratch.sums = reinterpret_cast<float*>(scratch.inputs + s_.sources_ * s_.ResidueSheets() * s_.input_elements_);
      scratch.line = scratch.sums + s_.sums_floats_;
      scratch.bias = scratch.line + s_.line_floats_;
      Job(index / segments, index % segments, scratch);
    });
    exec::ParallelFor(p_.geometry.groups, serial, [&](int64_t group, int) { Finish(group); });
  }

  Sheet SheetAt(int64_t group, int64_t item) const {
    const Geometry& g = p_.geometry;
    Sheet sheet{};
    sheet.group = group;
    sheet.first_row = item % s_.bands_ * s_.band_;
    sheet.rows = std::min(s_.band_, g.output_size[1] - sheet.first_row);
    item /= s_.bands_;
    sheet.depth = item % g.output_size[0];
    sheet.first_image = item / g.output_size[0] * s_.images_;
    sheet.images = std::min(s_.images_, g.batch - sheet.first_image);
    return sheet;
  }

  void Job(int64_t group, int64_t segment, const Scratch& scratch) const {
    std::fill(scratch.outputs, reinterpret_cast<T*>(scratch.line), T{0});
    std::fill(scratch.bias, scratch.bias + s_.results_, 0.0f);
    const int64_t last = (segment + 1) * s_.items_ / s_.segments_;
    for (int64_t item = segment * s_.items_ / s_.segments_; item < last; ++item) {
      const Sheet sheet = SheetAt(group, item);
      LoadOutputs(sheet, scratch);
      if (bias_) AddBiases(sheet, scratch);
      LoadInputs(sheet, scratch);
      Multiply(sheet, item + 1 < last ? SheetAt(group, item + 1) : SheetAt(group + 1, 0), scratch);
    }
    kernels::Dots().reduce(scratch.sums, s_.results_ * Taps(),
                           partial_ + (segment * p_.geometry.groups + group) * s_.results_ * Taps());
    if (bias_) std::copy(scratch.bias, scratch.bias + s_.results_, PartialBias(segment) + group * s_.results_);
  }

  // Of all channels.
  float* PartialBias(int64_t segment) const {
    return partial_ + p_.geometry.output_channels * (s_.segments_ * Taps() + segment);
  }

  void AddBiases(const Sheet& sheet, const Scratch& scratch) const {
    const int64_t positions = s_.Positions(sheet.images, sheet.rows);
    for (int64_t c = 0; c < s_.results_; ++c) {
      scratch.bias[c] += Sheets::Sum(scratch.outputs + c * s_.output_elements_, positions);
    }
  }

  void LoadOutputs(const Sheet& sheet, const Scratch& scratch) const {
    const int64_t width = s_.output_columns_, pitch = s_.columns_.pitch;
    for (int64_t c = 0; c < s_.results_; ++c) {
      for (int64_t i = 0; i < sheet.images; ++i) {
        T* to = scratch.outputs + c * s_.output_elements_ + i * s_.image_pitch_;
        const int64_t plane = output_.PlaneAt(sheet.first_image + i, sheet.group * s_.results_ + c, sheet.depth);
        output_.Load(plane, {sheet.first_row, 1, sheet.rows, 0, width}, pitch, scratch.line, to, nullptr);
      }
      // Longer sheets leave rows behind shorter ones.
      T* sheet_end = scratch.outputs + c * s_.output_elements_ + s_.Positions(sheet.images, sheet.rows);
      T* end = scratch.outputs + (c + 1) * s_.output_elements_;
      if (sheet.rows < s_.band_ || sheet.images < s_.images_) std::fill(sheet_end, end, T{0});
    }
  }

  void LoadInputs(const Sheet& sheet, const Scratch& scratch) const {
    const int64_t pairs = s_.columns_.stride == 2 ? 2 : 1;
    for (int64_t c = 0; c < s_.sources_; ++c) {
      for (int64_t i = 0; i < sheet.images; ++i) {
        const int64_t plane = input_.PlaneAt(sheet.first_image + i, sheet.group * s_.sources_ + c, sheet.depth);
        for (int64_t r = 0; r < s_.rows_.stride; ++r) {
          T* to = scratch.inputs + (c * s_.rows_.stride + r) * pairs * s_.input_elements_ + i * s_.image_pitch_;
          LoadResidue(sheet, plane, r, scratch.line, to);
        }
      }
    }
  }

  // Rows of one residue that a sheet's output meets, with zeros for those outside the plane.
  void LoadResidue(const Sheet& sheet, int64_t plane, int64_t residue, float* line, T* to) const {
    const WeightTaps &h = s_.rows_, &w = s_.columns_;
    const int64_t first = sheet.first_row + h.least, rows = sheet.rows + h.greatest - h.least;
    const int64_t count = h.Count(residue);
    const int64_t begin = std::clamp<int64_t>(-first, 0, rows), end = std::clamp<int64_t>(count - first, begin, rows);
    T* odd = w.stride == 2 ? to + s_.input_elements_ : nullptr;
    for (T* part : {to, odd}) {
      if (part == nullptr) continue;
      std::fill(part + s_.left_, part + s_.left_ + begin * w.pitch, T{0});
      if (sheet.images == 1) std::fill(part + s_.left_ + end * w.pitch, part + s_.left_ + rows * w.pitch, T{0});
    }
    if (begin == end) return;
    const int64_t at = s_.left_ + begin * w.pitch;
    input_.Load(plane, {residue + (first + begin) * h.stride, h.stride, end - begin, 0, w.size}, w.pitch, line, to + at,
                odd == nullptr ? nullptr : odd + at);
  }

  // Planes of the next sheet, as if their rows lay densely.
  static Wanted WantedOf(const typename Sheets::Reader& reader, const Operand& operand, const Sheet& sheet,
                         int64_t channels, int64_t stride) {
    const int64_t bytes = numerics::ElementBytes(operand.dtype);
    const int64_t element = reader.PlaneAt(sheet.first_image, sheet.group * channels, sheet.depth) +
                            sheet.first_row * stride * operand.strides[3];
    return {reader.Address(element), operand.strides[1] * bytes, sheet.rows * stride * operand.strides[3] * bytes};
  }

  // Adds the terms of a sheet. On the way it asks for the next one.
  void Multiply(const Sheet& sheet, const Sheet& next, const Scratch& scratch) const {
    const Wanted wanted[2] = {WantedOf(output_, p_.output, next, s_.results_, 1),
                              WantedOf(input_, p_.input, next, s_.sources_, s_.rows_.stride)};
    const int64_t vectors = base::CeilDiv(s_.Positions(sheet.images, sheet.rows), s_.vector_positions()), taps = Taps();
    kernels::DotsCallOf<T> call{};
    call.a_row = s_.output_elements_;
    call.sums_row = taps * s_.lanes_;
    for (const WeightTile& tile : s_.tiles_) {
      call.b_offsets = &s_.offsets_[static_cast<size_t>(tile.column)];
      call.sums = scratch.sums + (tile.row * taps + tile.column) * s_.lanes_;
      for (int i = 0; i < 2; ++i) {
        const WeightTile::Share& share = tile.shares[i];
        const int64_t bytes = wanted[i].bytes / share.parts;
        call.ahead[i] = wanted[i].first + share.plane * wanted[i].plane_bytes + share.part * bytes;
        call.ahead_step[i] = std::max(kernels::kMemoryLine, bytes / vectors + 1);
      }
      for (int64_t v = 0; v < vectors; v += call.vectors) {
        call.vectors = std::min(kMostVectors, vectors - v);
        call.a = scratch.outputs + tile.row * s_.output_elements_ + v * s_.vector_positions();
        call.b = scratch.inputs + v * s_.vector_positions();
        kernels::DotsOf<T>().dots[tile.rows][tile.columns](call);
        for (int i = 0; i < 2; ++i) call.ahead[i] += call.vectors * call.ahead_step[i];
      }
    }
  }

  // Adds up the segments of a group, in their order.
  void Finish(int64_t group) const {
    const Geometry& g = p_.geometry;
    const auto& strides = p_.weight_result.strides;
    const int64_t count = s_.results_ * Taps(), all = g.groups * count;
    float* sums = partial_ + group * count;
    for (int64_t segment = 1; segment < s_.segments_; ++segment) {
      for (int64_t t = 0; t < count; ++t) sums[t] += sums[segment * all + t];
    }
    if (kernels::Lines().any_nonfinite(sums, count)) nonfinite_->store(1, std::memory_order_relaxed);
    if (bias_) FinishBias(group);
    const bool dense = strides[3] == g.kernel[2] * strides[4] && strides[1] == g.kernel[1] * strides[3];
    const int64_t rows = dense ? 1 : s_.sources_ * g.kernel[1], columns = Taps() / rows;
    const kernels::Segment whole{0, 0, static_cast<int32_t>(columns)};
    for (int64_t c = 0; c < s_.results_; ++c) {
      for (int64_t r = 0; r < rows; ++r, sums += columns) {
        const int64_t at = (group * s_.results_ + c) * strides[0] + r / g.kernel[1] * strides[1];
        result_.Store(at + r % g.kernel[1] * strides[3], &whole, 1, strides[4], sums);
      }
    }
  }

  void FinishBias(int64_t group) const {
    const int64_t first = group * s_.results_;
    float* sums = PartialBias(0) + first;
    for (int64_t segment = 1; segment < s_.segments_; ++segment) {
      for (int64_t c = 0; c < s_.results_; ++c) sums[c] += PartialBias(segment)[first + c];
    }
    sheets::StoreBiases(p_, b_, first, s_.results_, sums);
  }

  const WeightsStep& s_;
  const ConvProblem& p_;
  const Buffers& b_;
  float* partial_;
  plan::Shares scratch_;
  typename Sheets::Reader input_, output_;
  bool bias_;
  LineWriter result_;
  std::atomic<int>* nonfinite_;
};

void WeightsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                      void* workspace) const noexcept {
  const auto run = [&](auto number) {
    WeightsRun<decltype(number)>(*this, problem, buffers, static_cast<float*>(ledger.Fetch(workspace, partial_handle_)),
                                 ledger.FetchEach(workspace, scratch_handle_), ledger.Fetch(workspace, flag_handle_))
        .Run();
  };
  pairs() ? run(uint16_t{}) : run(float{});
}

}  // namespace canopy::conv::pixel_lanes
