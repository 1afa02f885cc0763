// SPDX-License-Identifier: Apache-2.0
#include "conv/packing/weight_panels.h"

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"

namespace canopy::conv::packing {
namespace {

constexpr int64_t kPrefetchAhead = 6;  // source channels

class Packer {
 public:
  Packer(const LineReader& reader, const WeightView& view, const WeightBlock& block, const SlabScratch& scratch,
         int64_t* offsets, float* packed)
      : reader_(reader), v_(view), block_(block), scratch_(scratch), offsets_(offsets), packed_(packed) {}

  void Run() const {
    switch (v_.runs) {
      case WeightView::Runs::kSourceAndTaps:
        for (int64_t k = 0, i = 0; k < block_.sources; ++k) {
          for (int64_t tap = 0; tap < v_.taps; ++tap) offsets_[i++] = tap * block_.tap_step() + k * block_.lanes;
        }
        return Columns(block_.offset, block_.sources * v_.taps, packed_);
      case WeightView::Runs::kTaps:
        for (int64_t tap = 0; tap < v_.taps; ++tap) offsets_[tap] = tap * block_.tap_step();
        // All of them are one matrix.
        if (block_.lanes == block_.results && v_.IsOneMatrix(block_.results) &&
            reader_.Transpose(block_.offset, v_.taps, block_.sources * block_.results, v_.taps, packed_, offsets_)) {
          return;
        }
        for (int64_t k = 0; k < block_.sources; ++k) {
          // Source channels are too far apart for the processor to foresee.
          if (k + kPrefetchAhead < block_.sources) {
            reader_.Prefetch(block_.offset + (k + kPrefetchAhead) * v_.source_stride, block_.results * v_.taps);
          }
          Columns(block_.offset + k * v_.source_stride, v_.taps, packed_ + k * block_.lanes);
        }
        return;
      case WeightView::Runs::kSourceChannels:
        for (int64_t k = 0; k < block_.sources; ++k) offsets_[k] = k * block_.lanes;
        for (int64_t tap = 0; tap < v_.taps; ++tap) {
          Columns(block_.offset + v_.TapOffset(tap), block_.sources, packed_ + tap * block_.tap_step());
        }
        return;
      default:
        return Rows();
    }
  }

 private:
  // packed[offsets[j] + result] = element j of the run of each result channel.
  void Columns(int64_t offset, int64_t count, float* packed) const {
    if (reader_.Transpose(offset, v_.result_stride, block_.results, count, packed, offsets_)) return;
    const int64_t line = kLine + kernels::kLineSlack;
    for (int64_t r = 0; r < block_.results; r += kLines) {
      const int64_t results = std::min(kLines, block_.results - r);
      const int64_t first = offset + r * v_.result_stride;
      if (v_.result_stride == count && results * count <= kLines * kLine) {
        // The runs follow one another: one long run.
        reader_.FetchRun(first, results * count, scratch_.lines);
        kernels::Lines().transpose(scratch_.lines, count, results, count, packed + r, offsets_);
        continue;
      }
      for (int64_t j = 0; j < count; j += kLine) {
        const int64_t run = std::min(kLine, count - j);
        for (int64_t i = 0; i < results; ++i) {
          reader_.FetchRun(first + i * v_.result_stride + j, run, scratch_.lines + i * line);
        }
        kernels::Lines().transpose(scratch_.lines, line, results, run, packed + r, offsets_ + j);
      }
    }
  }

  void Rows() const {
    if (block_.lanes == block_.results && v_.taps == 1 && v_.IsOneMatrix(block_.results)) {
      return reader_.FetchRun(block_.offset, block_.sources * block_.results, packed_);
    }
    for (int64_t tap = 0; tap < v_.taps; ++tap) {
      for (int64_t k = 0; k < block_.sources; ++k) {
        const int64_t offset = block_.offset + v_.TapOffset(tap) + k * v_.source_stride;
        float* to = packed_ + tap * block_.tap_step() + k * block_.lanes;
        if (v_.runs == WeightView::Runs::kResultChannels) {
          reader_.FetchRun(offset, block_.results, to);
          continue;
        }
        for (int64_t r = 0; r < block_.results; r += kLine) {
          const int64_t count = std::min(kLine, block_.results - r);
          const kernels::Segment whole{0, 0, static_cast<int32_t>(count)};
          reader_.Fetch(offset + r * v_.result_stride, &whole, 1, v_.result_stride, count, scratch_.lines);
          std::memcpy(to + r, scratch_.lines, static_cast<size_t>(count) * sizeof(float));
        }
      }
    }
  }

  const LineReader& reader_;
  const WeightView& v_;
  const WeightBlock& block_;
  const SlabScratch& scratch_;
  int64_t* offsets_;
  float* packed_;
};

// Pairs of source channels of what PackWeights packed, in place: row by row forwards, for a row of pairs never lies
// behind the rows that it is made of.
void PairUp(int64_t taps, const WeightBlock& block, float* packed) {
  float* to = packed;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const float* from = packed + tap * block.tap_step();
    for (int64_t k = 0; k < block.sources; k += 2, from += 2 * block.lanes, to += block.lanes) {
      kernels::Lines().zip_upper(from, k + 1 < block.sources ? from + block.lanes : nullptr, block.lanes, to);
    }
  }
}

}  // namespace

WeightView::WeightView(const ConvProblem& problem, bool forward)
    : kernel(problem.geometry.kernel), taps(problem.geometry.taps()) {
  const auto& strides = problem.weight.strides;
  tap_strides = {strides[2], strides[3], strides[4]};
  result_stride = strides[forward ? 0 : 1];
  source_stride = strides[forward ? 1 : 0];
  const bool taps_run = (kernel[2] == 1 || strides[4] == 1) && (kernel[1] == 1 || strides[3] == kernel[2]) &&
                        (kernel[0] == 1 || strides[2] == kernel[1] * kernel[2]);
  if (result_stride == 1) {
    runs = Runs::kResultChannels;
  } else if (taps_run && source_stride == taps) {
    runs = Runs::kSourceAndTaps;
  } else if (source_stride == 1) {
    runs = Runs::kSourceChannels;
  } else if (taps_run && taps > 1) {
    runs = Runs::kTaps;
  }
}

WeightRuns::WeightRuns(const WeightView& view, const WeightBlock& block) : offset(block.offset) {
  switch (view.runs) {
    case WeightView::Runs::kSourceAndTaps:
      count = block.results;
      stride = view.result_stride;
      length = block.sources * view.taps;
      return;
    case WeightView::Runs::kTaps:
      count = block.sources;
      stride = view.source_stride;
      length = view.result_stride * (block.results - 1) + view.taps;
      return;
    case WeightView::Runs::kSourceChannels:
      count = view.taps == 1 ? block.results : 0;
      stride = view.result_stride;
      length = block.sources;
      return;
    case WeightView::Runs::kResultChannels:
      count = view.taps == 1 ? block.sources : 0;
      stride = view.source_stride;
      length = block.results;
      return;
    case WeightView::Runs::kNone:
      return;
  }
}

void PackWeights(const LineReader& reader, const WeightView& view, const WeightBlock& block, const SlabScratch& scratch,
                 int64_t* offsets, float* packed) {
  if (block.sources * block.results > 0) Packer(reader, view, block, scratch, offsets, packed).Run();
}

void PackWeightPairs(const LineReader& reader, const PairReader& pairs, const WeightView& view,
                     const WeightBlock& block, const SlabScratch& scratch, int64_t* offsets, float* packed) {
  if (view.runs != WeightView::Runs::kResultChannels) {
    PackWeights(reader, view, block, scratch, offsets, packed);
    return PairUp(view.taps, block, packed);
  }
  for (int64_t tap = 0; tap < view.taps; ++tap) {
    pairs.ZipRows(block.offset + view.TapOffset(tap), view.source_stride, block.sources, block.results, packed,
                  block.lanes);
    packed += base::CeilDiv(block.sources, int64_t{2}) * block.lanes;
  }
}

}  // namespace canopy::conv::packing
