// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/whole.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/oracle/definition.h"
#include "tests/oracle/parallel.h"

namespace canopy::oracle {
namespace {

int64_t Volume(const Extent3& extent) { return extent[0] * extent[1] * extent[2]; }
int64_t Blocks(int64_t count, int64_t block) { return (count + block - 1) / block; }

Index5 Extents(int64_t outer, int64_t channels, const Extent3& size) {
  return {outer, channels, size[0], size[1], size[2]};
}

Index5 WeightExtents(const Geometry& g) { return Extents(g.response_channels, g.group_image_channels(), g.kernel); }

// Calls row(index of the row's first element) for every row along the last axis.
template <typename Row>
void ForEachRow(const Index5& extents, const Row& row) {
  if (extents[4] == 0) return;
  for (int64_t a = 0; a < extents[0]; ++a) {
    for (int64_t b = 0; b < extents[1]; ++b) {
      for (int64_t c = 0; c < extents[2]; ++c) {
        for (int64_t d = 0; d < extents[3]; ++d) row(Index5{a, b, c, d, 0});
      }
    }
  }
}

bool AllFinite(const Array& array, const Index5& extents) {
  bool finite = true;
  ForEachRow(extents, [&](const Index5& index) {
    const float* row = array.at(index);
    for (int64_t i = 0; i < extents[4]; ++i) finite &= std::isfinite(row[i * array.strides[4]]);
  });
  return finite;
}

void FillZero(const Result& result, const Index5& extents) {
  ForEachRow(extents, [&](const Index5& index) {
    double* row = result.at(index);
    for (int64_t i = 0; i < extents[4]; ++i) row[i * result.strides[4]] = 0;
  });
}

// result[index] = at(index) everywhere, in parallel over the first two axes.
template <typename At>
void ElementByElement(const Index5& extents, const Result& result, const At& at) {
  ParallelFor(extents[0] * extents[1], [&](int64_t task) {
    ForEachRow({1, 1, extents[2], extents[3], extents[4]}, [&](Index5 index) {
      index[0] = task / extents[1];
      index[1] = task % extents[1];
      for (index[4] = 0; index[4] < extents[4]; ++index[4]) *result.at(index) = at(index);
    });
  });
}

// accumulator[0..count) += sum of factor[j] * rows[j * count + 0..count): the one inner loop of this file.
void AddScaledRows(double* __restrict accumulator, int64_t count, int64_t terms, const double* factors,
                   const double* rows) {
  int64_t j = 0;
  for (; j + 4 <= terms; j += 4) {
    const double f0 = factors[j], f1 = factors[j + 1], f2 = factors[j + 2], f3 = factors[j + 3];
    const double *r0 = rows + j * count, *r1 = r0 + count, *r2 = r1 + count, *r3 = r2 + count;
    for (int64_t i = 0; i < count; ++i) accumulator[i] += f0 * r0[i] + f1 * r1[i] + f2 * r2[i] + f3 * r3[i];
  }
  for (; j < terms; ++j) {
    const double f = factors[j];
    const double* r = rows + j * count;
    for (int64_t i = 0; i < count; ++i) accumulator[i] += f * r[i];
  }
}

// A kernel position and an image channel of a group: one row of the column matrix.
struct Tap {
  int64_t channel;
  Extent3 kk;
};

std::vector<Tap> AllTaps(const Geometry& g) {
  std::vector<Tap> taps;
  ForEachRow({1, g.group_image_channels(), g.kernel[0], g.kernel[1], g.kernel[2]}, [&](const Index5& index) {
    for (int64_t w = 0; w < g.kernel[2]; ++w) taps.push_back({index[1], {index[2], index[3], w}});
  });
  return taps;
}

// Calls visit(i, n, position in the image) for those placements first + i, i < count, whose tap falls inside the image.
template <typename Visit>
void ForEachPlacement(const Geometry& g, const Tap& tap, int64_t first, int64_t count, const Visit& visit) {
  const int64_t o_count = Volume(g.response);
  int64_t n = first / o_count;
  Extent3 o{first % o_count / (g.response[1] * g.response[2]), first / g.response[2] % g.response[1],
            first % g.response[2]};
  for (int64_t i = 0; i < count; ++i) {
    Extent3 at;
    bool inside = true;
    for (int axis = 0; axis < 3; ++axis) {
      at[axis] = o[axis] * g.stride[axis] - g.pad[axis] + tap.kk[axis] * g.dilation[axis];
      inside &= at[axis] >= 0 && at[axis] < g.image[axis];
    }
    if (inside) visit(i, n, at);
    if (++o[2] < g.response[2]) continue;
    o[2] = 0;
    if (++o[1] < g.response[1]) continue;
    o[1] = 0;
    if (++o[0] < g.response[0]) continue;
    o[0] = 0;
    ++n;
  }
}

// The kernel of one point whose placements visit the response itself.
Geometry OnResponse(const Geometry& g) {
  Geometry point = g;
  point.image = g.response;
  point.kernel = point.stride = point.dilation = {1, 1, 1};
  point.pad = {0, 0, 0};
  return point;
}

// The response's channels [channel, channel + channels) at placements [first, first + count): rows of `count` doubles.
void GatherResponse(const Geometry& g, const Array& response, int64_t channel, int64_t channels, int64_t first,
                    int64_t count, std::vector<double>* rows) {
  rows->assign(channels * count, 0);
  ForEachPlacement(OnResponse(g), Tap{}, first, count, [&](int64_t i, int64_t n, const Extent3& at) {
    const float* source = response.at({n, channel, at[0], at[1], at[2]});
    for (int64_t r = 0; r < channels; ++r) (*rows)[r * count + i] = source[r * response.strides[1]];
  });
}

Index5 WeightIndex(int64_t response_channel, const Tap& tap) {
  return {response_channel, tap.channel, tap.kk[0], tap.kk[1], tap.kk[2]};
}

constexpr int64_t kPlacements = 128;  // in a block; with kRows the column block stays in the second-level cache
constexpr int64_t kRows = 128;

}  // namespace

void WholeResponse(const Geometry& g, const Array& image, const Array& weight, const Result& result) {
  const Index5 extents = Extents(g.batch, g.response_channels, g.response);
  if (!AllFinite(image, Extents(g.batch, g.image_channels, g.image)) || !AllFinite(weight, WeightExtents(g))) {
    ElementByElement(extents, result, [&](const Index5& index) { return ResponseAt(g, image, weight, index); });
    return;
  }
  const int64_t placements = g.batch * Volume(g.response);
  const std::vector<Tap> taps = AllTaps(g);
  const int64_t rows = static_cast<int64_t>(taps.size());
  const int64_t channels = g.group_response_channels();
  const int64_t blocks = Blocks(placements, kPlacements);
  ParallelFor(g.groups * blocks, [&](int64_t task) {
    const int64_t group = task / blocks;
    const int64_t first = task % blocks * kPlacements;
    const int64_t count = std::min(kPlacements, placements - first);
    std::vector<double> sums(channels * count, 0), columns, factors;
    for (int64_t row = 0; row < rows; row += kRows) {
      const int64_t row_count = std::min(kRows, rows - row);
      columns.assign(row_count * count, 0);
      for (int64_t j = 0; j < row_count; ++j) {
        const Tap& tap = taps[row + j];
        ForEachPlacement(g, tap, first, count, [&](int64_t i, int64_t n, const Extent3& at) {
          const int64_t channel = group * g.group_image_channels() + tap.channel;
          columns[j * count + i] = *image.at({n, channel, at[0], at[1], at[2]});
        });
      }
      factors.resize(row_count);
      for (int64_t r = 0; r < channels; ++r) {
        for (int64_t j = 0; j < row_count; ++j) {
          factors[j] = *weight.at(WeightIndex(group * channels + r, taps[row + j]));
        }
        AddScaledRows(&sums[r * count], count, row_count, factors.data(), columns.data());
      }
    }
    ForEachPlacement(OnResponse(g), Tap{}, first, count, [&](int64_t i, int64_t n, const Extent3& at) {
      for (int64_t r = 0; r < channels; ++r) {
        *result.at({n, group * channels + r, at[0], at[1], at[2]}) = sums[r * count + i];
      }
    });
  });
}

void WholeImage(const Geometry& g, const Array& response, const Array& weight, const Result& result) {
  const Index5 extents = Extents(g.batch, g.image_channels, g.image);
  if (!AllFinite(response, Extents(g.batch, g.response_channels, g.response)) || !AllFinite(weight, WeightExtents(g))) {
    ElementByElement(extents, result, [&](const Index5& index) { return ImageAt(g, response, weight, index); });
    return;
  }
  FillZero(result, extents);
  // Tasks own image channels of a slice of the batch, so that they never add to the same element.
  constexpr int64_t kChannels = 16;
  const int64_t channels = g.group_response_channels();
  const int64_t slices = std::min<int64_t>(g.batch, 8);
  const int64_t channel_blocks = Blocks(g.group_image_channels(), kChannels);
  const std::vector<Tap> taps = AllTaps(g);
  const int64_t block_rows = kChannels * Volume(g.kernel);
  const int64_t all_rows = static_cast<int64_t>(taps.size());
  ParallelFor(g.groups * slices * channel_blocks, [&](int64_t task) {
    const int64_t group = task / (slices * channel_blocks);
    const int64_t slice = task / channel_blocks % slices;
    const int64_t first_row = task % channel_blocks * block_rows;
    const int64_t rows = std::min(block_rows, all_rows - first_row);
    const int64_t begin = g.batch * slice / slices * Volume(g.response);
    const int64_t end = g.batch * (slice + 1) / slices * Volume(g.response);
    std::vector<double> sources, sums(kPlacements), factors(rows * channels);
    for (int64_t j = 0; j < rows; ++j) {
      for (int64_t r = 0; r < channels; ++r) {
        factors[j * channels + r] = *weight.at(WeightIndex(group * channels + r, taps[first_row + j]));
      }
    }
    for (int64_t first = begin; first < end; first += kPlacements) {
      const int64_t count = std::min(kPlacements, end - first);
      GatherResponse(g, response, group * channels, channels, first, count, &sources);
      for (int64_t j = 0; j < rows; ++j) {
        std::fill(sums.begin(), sums.end(), 0);
        AddScaledRows(sums.data(), count, channels, &factors[j * channels], sources.data());
        const Tap& tap = taps[first_row + j];
        ForEachPlacement(g, tap, first, count, [&](int64_t i, int64_t n, const Extent3& at) {
          *result.at({n, group * g.group_image_channels() + tap.channel, at[0], at[1], at[2]}) += sums[i];
        });
      }
    }
  });
}

void WholeWeight(const Geometry& g, const Array& image, const Array& response, const Result& result) {
  const Index5 extents = WeightExtents(g);
  if (!AllFinite(image, Extents(g.batch, g.image_channels, g.image)) ||
      !AllFinite(response, Extents(g.batch, g.response_channels, g.response))) {
    ElementByElement(extents, result, [&](const Index5& index) { return WeightAt(g, image, response, index); });
    return;
  }
  constexpr int64_t kChannels = 64;
  const int64_t channels = g.group_response_channels();
  const std::vector<Tap> taps = AllTaps(g);
  const int64_t rows = static_cast<int64_t>(taps.size());
  const int64_t row_blocks = Blocks(rows, kRows);
  const int64_t channel_blocks = Blocks(channels, kChannels);
  const int64_t placements = g.batch * Volume(g.response);
  ParallelFor(g.groups * row_blocks * channel_blocks, [&](int64_t task) {
    const int64_t group = task / (row_blocks * channel_blocks);
    const int64_t first_row = task / channel_blocks % row_blocks * kRows;
    const int64_t row_count = std::min(kRows, rows - first_row);
    const int64_t first_channel = task % channel_blocks * kChannels;
    const int64_t channel_count = std::min(kChannels, channels - first_channel);
    std::vector<double> sums(channel_count * row_count, 0), columns, factors;
    for (int64_t first = 0; first < placements; first += kPlacements) {
      const int64_t count = std::min(kPlacements, placements - first);
      columns.assign(count * row_count, 0);  // here a row for each placement
      for (int64_t j = 0; j < row_count; ++j) {
        const Tap& tap = taps[first_row + j];
        ForEachPlacement(g, tap, first, count, [&](int64_t i, int64_t n, const Extent3& at) {
          const int64_t channel = group * g.group_image_channels() + tap.channel;
          columns[i * row_count + j] = *image.at({n, channel, at[0], at[1], at[2]});
        });
      }
      GatherResponse(g, response, group * channels + first_channel, channel_count, first, count, &factors);
      for (int64_t r = 0; r < channel_count; ++r) {
        AddScaledRows(&sums[r * row_count], row_count, count, &factors[r * count], columns.data());
      }
    }
    for (int64_t r = 0; r < channel_count; ++r) {
      for (int64_t j = 0; j < row_count; ++j) {
        const int64_t channel = group * channels + first_channel + r;
        *result.at(WeightIndex(channel, taps[first_row + j])) = sums[r * row_count + j];
      }
    }
  });
}

}  // namespace canopy::oracle
