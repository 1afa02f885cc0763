// SPDX-License-Identifier: Apache-2.0
#include "conv/pointwise/row_weights.h"

#include <algorithm>

namespace canopy::conv::pointwise {
namespace {

constexpr int64_t kPackedTogether = 32;  // source channels: their weights stay in the L1 for all panels of rows

}  // namespace

RowWeights::Panels RowWeights::Of(const DataBlock& block, int64_t c, const DataScratch& scratch) const {
  if (s_.weights_in_place_) return {weight_.Direct(WeightOffset(block, c), 1), 1, s_.weight_.source_stride};
  const int64_t terms = s_.Terms(s_.CountOf(c));
  if (scratch.packed != nullptr) return {scratch.packed + PackedOffset(block, c), terms, 0};
  Pack(block, c, scratch, scratch.weights);
  return {scratch.weights, terms, 0};
}

void RowWeights::Pack(const DataBlock& block, int64_t c, const DataScratch& scratch, float* to) const {
  const packing::WeightView& view = s_.weight_;
  const int64_t sources = s_.CountOf(c), offset = WeightOffset(block, c);
  if (view.runs == packing::WeightView::Runs::kResultChannels) {
    return PackRuns(block, offset, sources, to);
  }
  for (int64_t panel = 0; panel < block.panels.count(); ++panel) {
    const int64_t row = block.panels.first(panel), rows = block.panels.rows(panel);
    const int64_t at = offset + row * view.result_stride;
    if (s_.dot_rate_ > 0) {
      PackPairs({at, sources, rows, rows}, scratch, to + row * s_.Terms(sources));
    } else {
      packing::PackWeights(weight_, view, {at, sources, rows, rows}, scratch.lines, scratch.weight_offsets,
                           to + row * sources);
    }
  }
}

int64_t RowWeights::PackedOffset(const DataBlock& block, int64_t c) const {
  return (block.group * s_.result_channels_ + block.first) * s_.Terms(s_.source_channels_) +
         s_.Terms(c) * block.channels;
}

int64_t RowWeights::WeightOffset(const DataBlock& block, int64_t c) const {
  return block.group * p_.geometry.group_output_channels() * p_.weight.strides[0] + c * s_.weight_.source_stride +
         block.first * s_.weight_.result_stride;
}

// The same where result channels lie side by side: a few source channels at a time for all panels, while the next
// ones are asked for.
void RowWeights::PackRuns(const DataBlock& block, int64_t offset, int64_t sources, float* to) const {
  const int64_t stride = s_.weight_.source_stride, terms = s_.Terms(sources);
  for (int64_t k = 0, count; k < sources; k += count) {
    const int64_t at = offset + k * stride;
    count = std::min(kPackedTogether, sources - k);
    for (int64_t i = k + count; i < std::min(k + 2 * count, sources); ++i) {
      weight_.Prefetch(offset + i * stride, block.channels);
    }
    for (int64_t panel = 0; panel < block.panels.count(); ++panel) {
      const int64_t row = block.panels.first(panel), rows = block.panels.rows(panel);
      float* packed = to + row * terms + s_.Terms(k) * rows;
      if (s_.dot_rate_ > 0) {
        pairs_.ZipRows(at + row, stride, count, rows, packed, rows);
      } else {
        weight_.CopyRows(at + row, stride, count, rows, packed, rows);
      }
    }
  }
}

// packed[pair][row], of a tile's rows.
void RowWeights::PackPairs(const packing::WeightBlock& rows, const DataScratch& scratch, float* packed) const {
  const int64_t source_stride = s_.weight_.source_stride, pairs = s_.Terms(rows.sources);
  if (source_stride != 1) {
    for (int64_t k = 0; k < pairs; ++k) {
      pairs_.FetchLine(rows.offset + 2 * k * source_stride, source_stride, 2 * k + 1 == rows.sources,
                       s_.weight_.result_stride, rows.results, packed + k * rows.lanes);
    }
    return;
  }
  // Pairs are neighbours.
  for (int64_t r = 0; r < rows.results; ++r) {
    pairs_.FetchRun(rows.offset + r * s_.weight_.result_stride, rows.sources, scratch.lines.lines + r * pairs);
  }
  for (int64_t k = 0; k < pairs; ++k) scratch.weight_offsets[k] = k * rows.lanes;
  kernels::Lines().transpose(scratch.lines.lines, pairs, rows.results, pairs, packed, scratch.weight_offsets);
}

}  // namespace canopy::conv::pointwise
