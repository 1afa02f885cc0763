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
  const int64_t together = input.bundle();
  Unfolded::Bundle bundle = input.BundleAt(channels.first / together);
  for (int64_t r = 0; r < channels.count; r += together, input.Next(&bundle)) {
    StoreBundle(bundle, pixels, results + r * s_.held_lanes(), line);
  }
}

void SpreadRun::StoreBundle(const Unfolded::Bundle& bundle, const Range& pixels, const float* from, float* line) const {
  const Unfolded& input = s_.input_;
  const int64_t width = input.width(), step = input.column_stride();
  Unfolded::Row row = input.RowAt(pixels.first / width);
  int64_t column = pixels.first % width;
  for (int64_t left = pixels.count; left > 0; column = 0) {
    const int64_t columns = std::min(width - column, left), skipped = column * step;
    const bool ends = column + columns == width;  // and what follows up to the next row is zeros
    const int64_t reach = input.Reach(bundle, row), alike = ends ? input.RowsAlike(bundle, row) : 1;
    const Rows rows{from,
                    columns,
                    columns == width ? std::clamp<int64_t>(left / width, 1, alike) : 1,
                    bundle.offset + row.offset + skipped,
                    ends ? reach - skipped : columns * step,
                    s_.result_row_ - skipped};
    if (ends) input.Skip(rows.count, &row);
    StoreRows(rows, bundle.channel, line);
    from += rows.count * rows.columns;
    left -= rows.count * rows.columns;
  }
}

void SpreadRun::StoreRows(const Rows& rows, int64_t channel, float* line) const {
  const int64_t step = s_.input_.row_step();
  float* direct = p_.has_bias || s_.spread_seconds_ ? nullptr : result_.Direct(rows.offset, 1);
  if (direct != nullptr) {
    const bool streamed = s_.streams_ && kernels::AreLines(direct, rows.length) && kernels::AreLines(direct, step);
    return Spread(rows, rows.length, streamed ? 0 : kChannelsAhead * s_.result_.strides[1], streamed, direct);
  }
  Rows one = rows;
  one.count = 1;
  for (int64_t r = 0; r < rows.count; ++r, one.from += one.columns, one.offset += step) {
    if (s_.spread_seconds_) {
      result_.StoreSeconds(one.offset, one.from, one.columns, one.length);
    } else {
      StoreByLines(one, channel, line);
    }
  }
}

// to[0, length) = a row of a bundle's results, and zeros; likewise those that follow it.
void SpreadRun::Spread(const Rows& rows, int64_t length, int64_t ahead, bool streamed, float* to) const {
  const Unfolded& input = s_.input_;
  const kernels::Spreading spreading{input.bundle(), s_.held_lanes(), rows.columns,     input.column_stride(),
                                     rows.count,     length,          input.row_step(), ahead};
  kernels::Lines().spread(rows.from, spreading, streamed, to);
}

// A row of a channel with a bias or a conversion.
void SpreadRun::StoreByLines(const Rows& row, int64_t channel, float* line) const {
  for (int64_t i = 0, count; i < row.length; i += count) {
    count = std::min(i == 0 ? row.behind : s_.result_row_, row.length - i);
    if (i == 0) Spread(row, count, 0, false, line);
    if (i > 0) std::fill(line, line + count, 0.0f);
    if (p_.has_bias) AddBias(p_, b_, channel, count, line);
    const kernels::Segment whole{0, 0, static_cast<int32_t>(count)};
    result_.Store(row.offset + i, &whole, 1, 1, line);
  }
}

}  // namespace canopy::conv::pointwise
