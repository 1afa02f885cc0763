// SPDX-License-Identifier: Apache-2.0
#include "conv/packing/tap_slab.h"

#include <algorithm>
#include <limits>

#include "base/checked_math.h"

namespace canopy::conv::packing {
namespace {

constexpr int64_t kRowsAhead = 4;  // of the same residue, that memory is asked for

int64_t Rows(const Geometry& g, int64_t strip_rows) {
  return strip_rows + (g.kernel[1] - 1) * g.dilation[1] / g.stride[1];
}

int64_t Pitch(const Geometry& g, int64_t strip_columns, int64_t multiple) {
  return base::RoundUp(strip_columns + (g.kernel[2] - 1) * g.dilation[2] / g.stride[2], multiple);
}

void FetchInput(const LineReader& input, int64_t step, int64_t offset, int64_t count, float* to) {
  if (step == 1) {
    input.FetchRun(offset, count, to);
  } else {
    input.FetchGrid(offset, 0, 1, step, count, to);
  }
}

}  // namespace

int64_t TapSlab::ChannelFloats(const Geometry& g, int64_t strip_rows, int64_t strip_columns, int64_t multiple) {
  const base::Checked floats =
      base::Checked(g.kernel[0]) * g.stride[1] * g.stride[2] * Rows(g, strip_rows) * Pitch(g, strip_columns, multiple);
  return floats.ok() ? floats.value() : std::numeric_limits<int64_t>::max();
}

TapSlab::TapSlab(const Geometry& g, int64_t strip_rows, int64_t strip_columns, int64_t multiple)
    : rows_(Rows(g, strip_rows)),
      pitch_(Pitch(g, strip_columns, multiple)),
      residues_(g.stride[2]),
      channel_floats_(ChannelFloats(g, strip_rows, strip_columns, multiple)) {
  rows_reached_.assign(static_cast<size_t>(g.stride[1]), false);
  for (int64_t k = 0; k < g.kernel[1]; ++k) rows_reached_[static_cast<size_t>(k * g.dilation[1] % g.stride[1])] = true;
  for (int64_t r = 0; r < residues_; ++r) residue_offsets_.push_back(r * plane_floats());
}

void TapSlab::ListTaps(const Geometry& g, int64_t channels, int64_t* offsets) const {
  const int64_t plane = plane_floats();
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
      for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
        const int64_t h = kh * g.dilation[1];
        for (int64_t kw = 0; kw < g.kernel[2]; ++kw) {
          const int64_t w = kw * g.dilation[2];
          const int64_t residue = (kd * g.stride[1] + h % g.stride[1]) * g.stride[2] + w % g.stride[2];
          *offsets++ = c * channel_floats_ + residue * plane + h / g.stride[1] * pitch_ + w / g.stride[2];
        }
      }
    }
  }
}

void TapSlab::Fill(const ConvProblem& problem, const LineReader& input, const Strip& strip, int64_t first_channel,
                   int64_t channels, float* line, float* slab) const {
  ForRows(problem, input, strip, first_channel, channels, slab,
          [&](int64_t offset, bool inside, float* to) { FillRow(problem, input, strip, inside, offset, line, to); });
}

void TapSlab::Fill(const ConvProblem& problem, const PairReader& input, const Strip& strip, int64_t first_channel,
                   int64_t channels, uint16_t* slab) const {
  const int64_t step = problem.input.strides[4];
  ForRows(problem, input, strip, first_channel, channels, slab, [&](int64_t offset, bool inside, uint16_t* to) {
    const Met met = MetBy(problem.geometry, strip, inside);
    for (int64_t r = 0; r < residues_; ++r, to += plane_floats()) {
      const int64_t begin = base::CeilDiv(std::max<int64_t>(0, met.low - r), residues_);
      const int64_t end = std::max(begin, base::CeilDiv(std::max<int64_t>(0, met.high - r), residues_));
      std::fill(to, to + begin, uint16_t{0});
      const int64_t first = offset + (met.first + begin * residues_ + r) * step;
      if (begin < end) input.FetchNumbers(first, residues_ * step, end - begin, to + begin);
      std::fill(to + end, to + pitch_, uint16_t{0});
    }
  });
}

template <class Reader, class T, class Row>
void TapSlab::ForRows(const ConvProblem& problem, const Reader& input, const Strip& strip, int64_t first_channel,
                      int64_t channels, T* slab, const Row& fill) const {
  const Geometry& g = problem.geometry;
  const auto& strides = problem.input.strides;
  const int64_t first_h = strip.row * g.stride[1] - g.pad_begin[1], plane = plane_floats();
  const int64_t rows = Rows(g, strip.rows);
  const auto exists = [&](int64_t d, int64_t h) {
    return d >= 0 && d < g.input_size[0] && h >= 0 && h < g.input_size[1];
  };
  const int64_t begin = std::clamp<int64_t>(strip.column * residues_ - g.pad_begin[2], 0, g.input_size[2]);
  const int64_t count = std::min(line_floats(), g.input_size[2] - begin);  // of a row, that the strip meets
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
      const int64_t d = strip.depth * g.stride[0] - g.pad_begin[0] + kd * g.dilation[0];
      const int64_t offset = strip.image * strides[0] + (first_channel + c) * strides[1] + d * strides[2];
      for (int64_t residue = 0; residue < g.stride[1]; ++residue) {
        if (!rows_reached_[static_cast<size_t>(residue)]) continue;
        T* to = slab + c * channel_floats_ + (kd * g.stride[1] + residue) * residues_ * plane;
        for (int64_t row = 0; row < rows; ++row, to += pitch_) {
          const int64_t h = first_h + row * g.stride[1] + residue;
          const int64_t coming = h + kRowsAhead * g.stride[1];
          if (exists(d, coming)) input.PrefetchToL2(offset + coming * strides[3] + begin * strides[4], count);
          fill(offset + h * strides[3], exists(d, h), to);
        }
      }
    }
  }
}

TapSlab::Met TapSlab::MetBy(const Geometry& g, const Strip& strip, bool inside) const {
  const int64_t length = line_floats(), first = strip.column * residues_ - g.pad_begin[2];
  const int64_t low = inside ? std::clamp<int64_t>(-first, 0, length) : length;
  return {first, low, std::clamp<int64_t>(g.input_size[2] - first, low, length)};
}

// One row of input, its residues a plane apart.
void TapSlab::FillRow(const ConvProblem& problem, const LineReader& input, const Strip& strip, bool inside,
                      int64_t offset, float* line, float* to) const {
  const int64_t plane = plane_floats(), length = line_floats(), step = problem.input.strides[4];
  const auto [first, low, high] = MetBy(problem.geometry, strip, inside);
  if (residues_ == 2 && step == 1) return FillPairs(input, offset + first, low, high, to);
  float* row = residues_ == 1 ? to : line;
  std::fill(row, row + low, 0.0f);
  if (low < high) FetchInput(input, step, offset + (first + low) * step, high - low, row + low);
  std::fill(row + high, row + length, 0.0f);
  if (residues_ == 2) return kernels::Lines().split_seconds(line, 0, 1, pitch_, to, to + plane);
  if (residues_ > 2) kernels::Lines().transpose(line, residues_, pitch_, residues_, to, residue_offsets_.data());
}

// Both residues of a stride of two: elements offset + i, low <= i < high, of a row, zeros elsewhere.
void TapSlab::FillPairs(const LineReader& input, int64_t offset, int64_t low, int64_t high, float* to) const {
  float* const odd = to + plane_floats();
  const int64_t begin = base::CeilDiv(low, 2), end = std::max(begin, high / 2);
  std::fill(to, to + begin, 0.0f);
  std::fill(odd, odd + begin, 0.0f);
  std::fill(to + end, to + pitch_, 0.0f);
  std::fill(odd + end, odd + pitch_, 0.0f);
  if (low >= high) return;
  if (begin < end) input.FetchGridPair(offset + 2 * begin, 0, 1, end - begin, to + begin, odd + begin);
  if (low % 2 == 1) input.FetchRun(offset + low, 1, odd + begin - 1);
  if (high % 2 == 1 && high / 2 >= begin) input.FetchRun(offset + high - 1, 1, to + end);
}

}  // namespace canopy::conv::packing
