// SPDX-License-Identifier: Apache-2.0
#include "conv/pointwise/unfolded.h"

#include "base/checked_math.h"

namespace canopy::conv::pointwise {
namespace {

using packing::kLine;
using packing::kLines;

constexpr int64_t kWideBundle = 4;  // from here on its channels are told apart by a transpose
// Are asked for meanwhile, of bundles to come: they are too far apart for the processor to foresee.
constexpr int64_t kElementsAhead = 2048, kMostBundlesAhead = 16;
constexpr int64_t kCopiedBundle = 8;  // from here on copies of whole bundles pay

// Elements between neighbouring kernel offsets' weights.
int64_t TapStride(const Geometry& g, const Operand& weight) {
  for (int axis = 2; axis >= 0; --axis) {
    if (g.kernel[axis] > 1) return weight.strides[2 + axis];
  }
  return weight.strides[1];
}

Operand UnfoldedWeight(const Geometry& g, const Operand& weight) {
  return {weight.dtype, {weight.strides[0], TapStride(g, weight), 0, 0, 0}};
}

}  // namespace

bool Unfolds(const Geometry& g) {
  for (int axis = 0; axis < 3; ++axis) {
    const bool dense = g.dilation[axis] == 1 || g.kernel[axis] == 1;
    const int64_t end = (g.output_size[axis] - 1) * g.stride[axis] + g.kernel[axis];
    const bool inside = g.pad_begin[axis] == 0 && (g.output_size[axis] == 0 || end <= g.input_size[axis]);
    if (!dense || !inside || g.kernel[axis] > g.stride[axis]) return false;
  }
  return true;
}

bool WeightsUnfold(const Geometry& g, const Operand& weight) {
  int64_t expected = TapStride(g, weight);
  for (int axis = 2; axis >= 0; --axis) {
    if (g.kernel[axis] > 1 && weight.strides[2 + axis] != expected) return false;
    expected *= g.kernel[axis];
  }
  return g.group_input_channels() == 1 || weight.strides[1] == expected;
}

ConvProblem ProductOf(const ConvProblem& problem) {
  ConvProblem product = problem;
  const Geometry& g = problem.geometry;
  product.geometry.input_channels *= g.taps();
  product.geometry.kernel = {1, 1, 1};
  product.weight = UnfoldedWeight(g, problem.weight);
  product.weight_result = UnfoldedWeight(g, problem.weight_result);
  return product;
}

Unfolded::Unfolded(const Geometry& g, const Operand& operand)
    : kernel_(g.kernel),
      stride_(g.stride),
      input_size_(g.input_size),
      output_size_(g.output_size),
      strides_(operand.strides),
      width_(g.output_size[2]),
      column_step_(g.stride[2] * operand.strides[4]),
      row_step_(g.stride[1] * operand.strides[3]) {}

Unfolded::Bundle Unfolded::BundleAt(int64_t index) const {
  const int64_t height = index % kernel_[1], depth = index / kernel_[1] % kernel_[0];
  const int64_t channel = index / (kernel_[0] * kernel_[1]);
  return {channel, depth, height, channel * strides_[1] + depth * strides_[2] + height * strides_[3]};
}

Unfolded::Row Unfolded::RowAt(int64_t index) const {
  const int64_t height = index % output_size_[1], plane = index / output_size_[1];
  const int64_t depth = plane % output_size_[0], image = plane / output_size_[0];
  return {depth, height, image * strides_[0] + depth * stride_[0] * strides_[2] + height * row_step_};
}

int64_t Unfolded::Reach(const Bundle& b, const Row& r) const {
  if (b.height + 1 < kernel_[1]) return input_size_[2];
  const bool last_row = r.height + 1 == output_size_[1], last_depth = r.depth + 1 == output_size_[0];
  int64_t rows = (last_row ? input_size_[1] - r.height * stride_[1] : stride_[1]) - b.height;
  if (last_row && b.depth + 1 == kernel_[0]) {
    const int64_t depths = (last_depth ? input_size_[0] - r.depth * stride_[0] : stride_[0]) - kernel_[0];
    rows += depths * input_size_[1];
  }
  return rows * input_size_[2];
}

int64_t Unfolded::RowsAlike(const Bundle& b, const Row& r) const {
  const int64_t others = output_size_[1] - 1 - r.height;  // before the last, which reaches the plane's end
  const Row last{r.depth, output_size_[1] - 1, 0};
  return Reach(b, last) == Reach(b, r) ? others + 1 : others;
}

template <class F>
void Unfolded::ForEachRun(const Range& pixels, const F& visit) const {
  Row row = RowAt(pixels.first / width_);
  int64_t column = pixels.first % width_;
  for (int64_t p = 0; p < pixels.count;) {
    Run run{p, 1, std::min(pixels.count - p, width_ - column), row.offset + column * column_step_};
    if (run.columns == width_) run.rows = std::min((pixels.count - p) / width_, output_size_[1] - row.height);
    visit(run);
    Skip(run.rows, &row);
    column = 0;
    p += run.rows * run.columns;
  }
}

void Unfolded::FetchChannel(const LineReader& reader, int64_t offset, const Run& run, float* to) const {
  if (column_step_ == 1) {
    for (int64_t r = 0; r < run.rows; ++r) {
      reader.FetchRun(offset + r * row_step_, run.columns, to + r * run.columns);
    }
  } else {
    reader.FetchGrid(offset, row_step_, run.rows, column_step_, run.columns, to);
  }
}

void Unfolded::Fetch(const LineReader& reader, const Range& channels, const Range& pixels, float* to,
                     int64_t to_step) const {
  const int64_t together = bundle(), end = channels.first + channels.count;
  const bool wide = together >= kWideBundle && together <= kLine && strides_[4] == 1 && reader.Transposes();
  int64_t offsets[kLine];
  for (int64_t i = 0; wide && i < together; ++i) offsets[i] = i * to_step;
  ForEachRun(pixels, [&](const Run& run) {
    Bundle bundle = BundleAt(channels.first / together), coming = bundle;
    const int64_t ahead = kElementsAhead / std::max<int64_t>(1, run.rows * run.columns * column_step_);
    for (int64_t u = std::clamp<int64_t>(ahead, 1, kMostBundlesAhead); u > 0; --u) Next(&coming);
    int64_t k = channels.first % together;
    for (int64_t c = channels.first; c < end; k = 0, Next(&bundle)) {
      const int64_t count = std::min(together - k, end - c), offset = bundle.offset + run.offset + k * strides_[4];
      float* at = to + (c - channels.first) * to_step + run.pixel;
      for (int64_t r = 0; wide && r < run.rows; ++r) {
        reader.Transpose(offset + r * row_step_, column_step_, run.columns, count, at + r * run.columns, offsets);
      }
      for (int64_t r = 0; r < run.rows; ++r) {
        const int64_t elements = (run.columns - 1) * column_step_ + together;
        reader.PrefetchToL2(coming.offset + run.offset + r * row_step_, elements);
      }
      Next(&coming);
      if (count == 2 && column_step_ == 2 && strides_[4] == 1) {
        reader.FetchGridPair(offset, row_step_, run.rows, run.columns, at, at + to_step);
      } else {
        for (int64_t i = 0; !wide && i < count; ++i) {
          FetchChannel(reader, offset + i * strides_[4], run, at + i * to_step);
        }
      }
      c += count;
    }
  });
}

void Unfolded::FetchNumbers(const PairReader& reader, int64_t channel, const Range& pixels, float* to) const {
  const int64_t offset = BundleAt(channel / bundle()).offset + channel % bundle() * strides_[4];
  uint16_t* numbers = reinterpret_cast<uint16_t*>(to);
  if (pixels.count % 2 != 0) numbers[pixels.count] = 0;
  ForEachRun(pixels, [&](const Run& run) {
    reader.FetchGrid(offset + run.offset, row_step_, run.rows, column_step_, run.columns, numbers + run.pixel,
                     run.columns);
  });
}

void Unfolded::FetchLanes(const LineReader& reader, const Range& channels, const Range& pixels, int64_t panel,
                          const packing::SlabScratch& scratch, float* slab) const {
  constexpr int64_t kBetween = kLine + kernels::kLineSlack;
  const int64_t together = bundle();
  const bool copy = together >= kCopiedBundle && strides_[4] == 1;
  for (int64_t c = 0; c < channels.count && copy;) {
    const int64_t channel = channels.first + c, k = channel % together, in_panel = c % panel;
    const int64_t count = std::min({together - k, channels.count - c, panel - in_panel});
    float* to = slab + c / panel * pixels.count * panel + in_panel;
    ForEachRun(pixels, [&](const Run& run) {
      const int64_t offset = BundleAt(channel / together).offset + run.offset + k;
      for (int64_t r = 0; r < run.rows; ++r) {
        reader.CopyRows(offset + r * row_step_, column_step_, run.columns, count,
                        to + (run.pixel + r * run.columns) * panel, panel);
      }
    });
    c += count;
  }
  for (int64_t p = 0; p < pixels.count && !copy; p += kLine) {
    const Range part{pixels.first + p, std::min(kLine, pixels.count - p)};
    for (int64_t i = 0; i < part.count; ++i) scratch.offsets[i] = i * panel;
    for (int64_t c = 0; c < channels.count;) {
      const int64_t in_panel = c % panel, lines = std::min({kLines, channels.count - c, panel - in_panel});
      Fetch(reader, {channels.first + c, lines}, part, scratch.lines, kBetween);
      float* to = slab + c / panel * pixels.count * panel + p * panel + in_panel;
      kernels::Lines().transpose(scratch.lines, kBetween, lines, part.count, to, scratch.offsets);
      c += lines;
    }
  }
}

Range Unfolded::ChannelsOf(const Range& unfolded) const {
  const int64_t taps = kernel_[0] * kernel_[1] * kernel_[2], first = unfolded.first / taps;
  return {first, base::CeilDiv(unfolded.first + unfolded.count, taps) - first};
}

Range Unfolded::StretchOf(const Range& pixels) const {
  if (strides_[4] != 1 || pixels.count == 0) return {0, 0};
  const Row first = RowAt(pixels.first / width_), last = RowAt((pixels.first + pixels.count - 1) / width_);
  const int64_t end = last.offset + (kernel_[0] - 1) * strides_[2] + (kernel_[1] - 1) * strides_[3] + input_size_[2];
  return {first.offset, std::max<int64_t>(0, end - first.offset)};
}

}  // namespace canopy::conv::pointwise
