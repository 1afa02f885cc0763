// SPDX-License-Identifier: Apache-2.0
#include "conv/pointwise/spread_run.h"

#include <algorithm>

#include "conv/pointwise/bias.h"
#include "kernels/lines/contract.h"
#include "kernels/streams.h"

namespace canopy::conv::pointwise {
namespace {

constexpr int64_t kChannelsAhead = 2;  // whose planes are asked for while one is stored

}  // namespace

void SpreadRun::Store(const Range& channels, const Range& pixels, const float* results, float* line) const {
  const Unfolded& input = s_.input_;
  const int64_t width = input.width(), together = input.bundle(), end = pixels.first + pixels.count;
  const Unfolded::Row first_row = input.RowAt(pixels.first / width);
  const int64_t first_column = pixels.first % width;
  Unfolded::Bundle bundle = input.BundleAt(channels.first / together);
  for (int64_t r = 0; r < channels.count; r += together, input.Next(&bundle)) {
    const float* from = results + r * s_.piece_lanes();
    Unfolded::Row row = first_row;
    int64_t column = first_column;
    for (int64_t p = pixels.first, columns; p < end; p += columns, from += columns, column = 0, input.Next(&row)) {
      columns = std::min(width - column, end - p);
      const int64_t skipped = column * input.column_stride(), offset = bundle.offset + row.offset + skipped;
      const int64_t length =
          column + columns < width ? columns * input.column_stride() : input.Reach(bundle, row) - skipped;
      float* direct = p_.has_bias ? nullptr : result_.Direct(offset, 1);
      if (s_.spread_seconds_) {
        result_.StoreSeconds(offset, from, columns, length);
      } else if (direct != nullptr) {
        const bool streamed = s_.streams_ && kernels::AreLines(direct, length);
        if (!streamed) result_.Prefetch(offset + kChannelsAhead * s_.result_.strides[1], length);
        Spread(from, columns, length, streamed, direct);
      } else {
        StoreRows({from, columns, offset, length, s_.result_row_ - skipped}, bundle.channel, line);
      }
    }
  }
}

// to[0, length) = columns of a bundle's results, and zeros.
void SpreadRun::Spread(const float* from, int64_t columns, int64_t length, bool streamed, float* to) const {
  const int64_t together = s_.input_.bundle(), stride = s_.input_.column_stride();
  if (together == 1) return kernels::Lines().spread(from, columns, stride, length, streamed, to);
  if (together == stride) {
    kernels::Lines().interleave(from, s_.piece_lanes(), together, columns, to);
    std::fill(to + together * columns, to + length, 0.0f);
    return;
  }
  std::fill(to, to + length, 0.0f);
  for (int64_t k = 0; k < together; ++k)
    for (int64_t i = 0; i < columns; ++i) to[i * stride + k] = from[k * s_.piece_lanes() + i];
}

// The same of a channel with a bias or a conversion.
void SpreadRun::StoreRows(const Stretch& stretch, int64_t channel, float* line) const {
  for (int64_t i = 0, count; i < stretch.length; i += count) {
    count = std::min(i == 0 ? stretch.row : s_.result_row_, stretch.length - i);
    if (i == 0) Spread(stretch.from, stretch.columns, count, false, line);
    if (i > 0) std::fill(line, line + count, 0.0f);
    if (p_.has_bias) AddBias(p_, b_, channel, count, line);
    const kernels::Segment whole{0, 0, static_cast<int32_t>(count)};
    result_.Store(stretch.offset + i, &whole, 1, 1, line);
  }
}

}  // namespace canopy::conv::pointwise
