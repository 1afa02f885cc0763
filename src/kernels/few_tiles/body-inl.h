// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_FEW_TILES_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_FEW_TILES_BODY_INL_H_
#undef CANOPY_KERNELS_FEW_TILES_BODY_INL_H_
#else
#define CANOPY_KERNELS_FEW_TILES_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "kernels/ask.h"
#include "kernels/few_tiles/contract.h"
#include "kernels/few_tiles/taps-inl.h"
#include "kernels/streams.h"
#include "kernels/winograd/laws-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// Tiles whose sums stay in registers, by the vectors of a panel.
constexpr int FewTilesInRegisters(int vectors) { return vectors == 1 ? 16 : 12; }

// Sums that wait for one another are several then. Depends on nothing else, so that sums do not.
constexpr int FewTilesAtOnce(int tiles) { return tiles >= 5 ? 1 : tiles >= 3 ? 2 : tiles == 2 ? 4 : 8; }

constexpr int kFewTilesUnrolled = 8;  // sources

// The kernels' products of kTiles tiles, the first of which is number `skip` of those that have a point, at some
// points of a row. Kernels at a point: [source][vector][lane].
template <int kVectors, int kTiles>
void AddPoints(const FewTilesSums& part, const float* row_kernels, bool accumulate, const int32_t* order,
               const int32_t* last, int64_t skip) {
  constexpr int kAtOnce = FewTilesAtOnce(kTiles), kPanel = kVectors * kFewTilesLanes;
  const WinogradTag d;
  for (; order != last; ++order) {
    const int64_t point = *order, first = part.at->ranges[point].first + skip;
    const float* HWY_RESTRICT kernels = row_kernels + point % kWinogradPoints * FewTilesPointStep(kVectors);
    const float* HWY_RESTRICT windows = part.windows.numbers + point * part.windows.point_step + first * kFewTilesLanes;
    float* HWY_RESTRICT sums = part.sums + point * part.sums_step + first * kPanel;
    WinogradVec acc[kAtOnce][kTiles][kVectors];
#pragma GCC unroll 8
    for (int u = 0; u < kAtOnce; ++u) {
#pragma GCC unroll 16
      for (int t = 0; t < kTiles; ++t) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) acc[u][t][v] = hn::Zero(d);
      }
    }
    const float* const end = windows + kFewTilesSources;
    do {
#pragma GCC unroll 8
      for (int s = 0; s < kFewTilesUnrolled; ++s) {
        WinogradVec kernel[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) kernel[v] = hn::Load(d, kernels + s * kPanel + v * kFewTilesLanes);
#pragma GCC unroll 16
        for (int t = 0; t < kTiles; ++t) {
          const WinogradVec window = hn::Set(d, windows[t * kFewTilesLanes + s]);
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) {
            acc[s % kAtOnce][t][v] = hn::MulAdd(window, kernel[v], acc[s % kAtOnce][t][v]);
          }
        }
      }
      kernels += kFewTilesUnrolled * kPanel;
      windows += kFewTilesUnrolled;
      asm("" : "+r"(windows));  // else GCC loads numbers of the next round before there are registers for them
    } while (windows != end);
#pragma GCC unroll 16
    for (int t = 0; t < kTiles; ++t) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        WinogradVec sum = acc[0][t][v];
#pragma GCC unroll 8
        for (int u = 1; u < kAtOnce; ++u) sum = hn::Add(sum, acc[u][t][v]);
        float* to = sums + t * kPanel + v * kFewTilesLanes;
        // Last, so that the long sum is rounded once for so many terms.
        if (accumulate) sum = hn::Add(sum, hn::Load(d, to));
        hn::Store(sum, d, to);
      }
    }
  }
}

using AddPointsFn = void (*)(const FewTilesSums&, const float*, bool, const int32_t*, const int32_t*, int64_t);

template <int kVectors, int kTiles>
void FillAddPoints(AddPointsFn* at) {
  at[kTiles] = &AddPoints<kVectors, kTiles>;
  if constexpr (kTiles > 1) FillAddPoints<kVectors, kTiles - 1>(at);
}

// Of a row of points.
template <int kVectors>
void AddRow(const FewTilesSums& part, int row, const float* kernels, bool accumulate) {
  constexpr int kMost = FewTilesInRegisters(kVectors);
  static const struct Table {
    AddPointsFn add[kMost + 1]{};
    Table() { FillAddPoints<kVectors, kMost>(add); }
  } table;
  const FewTilesPoints& points = *part.at;
  const int32_t* order = points.order.data() + row * kWinogradPoints;
  const int32_t* last = order + std::min(points.count, kWinogradPoints);
  while (order != last) {
    const int64_t count = points.ranges[*order].count;
    const int32_t* end = order;
    while (end != last && points.ranges[*end].count == count) ++end;
    const int64_t rounds = (count + kMost - 1) / kMost;
    for (int64_t round = 0; round < rounds; ++round) {
      const int64_t skip = round * count / rounds;
      table.add[(round + 1) * count / rounds - skip](part, kernels, accumulate, order, end, skip);
    }
    order = end;
  }
}

// A sixth of a row of lines that is asked for: all at once would wait for one another.
HWY_INLINE void AskForSixth(const FewTilesAsk& ask, int row, int sixth) {
  const char* coming = ask.first + row * ask.step;
  const int end = (sixth + 1) * ask.lines / 6;
  for (int line = sixth * ask.lines / 6; line < end; ++line) Ask(coming + line * kMemoryLine);
}

// Numbers of kernels, mirrored, at a row of points of a part.
template <int kPart, int kStride, int kRow>
HWY_INLINE void MakeRow(const float* HWY_RESTRICT taps, float* HWY_RESTRICT points, int point_step) {
  const WinogradTag d;
  constexpr int kLast = 2;  // of a row, or a column
  const auto tap = [&](int y, int x) HWY_ATTR { return hn::Load(d, taps + (3 * y + x) * kFewTilesLanes); };
  const auto store = [&](int, int x, WinogradVec value) HWY_ATTR { hn::Store(value, d, points + x * point_step); };
  if constexpr (kStride == 1) {
    TransformRows<KernelLaw<3>, KernelLaw<3>, kRow, kRow + 1>(
        [&](int y, int x) HWY_ATTR { return tap(kLast - y, kLast - x); }, store);
  } else if constexpr (kPart == kCorners) {
    TransformRows<KernelLaw<2>, KernelLaw<2>, kRow, kRow + 1>(
        [&](int y, int x) HWY_ATTR { return tap(kLast - 2 * y, kLast - 2 * x); }, store);
  } else if constexpr (kPart == kMiddleOfRows) {
    Transform<OnlyOne, KernelLaw<2>>([&](int, int x) HWY_ATTR { return tap(kLast - 2 * x, 1); }, store);
  } else if constexpr (kPart == kMiddleOfColumns) {
    Transform<OnlyOne, KernelLaw<2>>([&](int, int x) HWY_ATTR { return tap(1, kLast - 2 * x); }, store);
  } else {
    store(0, 0, tap(1, 1));
  }
}

// A call's kernels, taps apart, and its working memory. Only a row of points is made at a time: with the taps it stays
// in the L1, where all points would not.
template <int kVectors, int kStride>
struct KernelRows {
  static constexpr int kPanel = kVectors * kFewTilesLanes, kStep = FewTilesPointStep(kVectors);

  const FewTilesSums* parts;
  bool accumulate;
  const FewTilesAsk& ask;
  float* HWY_RESTRICT taps;    // [source][vector][tap][lane]
  float* HWY_RESTRICT points;  // [point][source][vector][lane]

  template <int kPart, int kRow>
  HWY_INLINE void Add() const {
    for (int s = 0; s < kFewTilesSources; ++s) {
      if constexpr (kPart == 0) AskForSixth(ask, s, kRow);
      for (int v = 0; v < kVectors; ++v) {
        MakeRow<kPart, kStride, kRow>(taps + (s * kVectors + v) * kFewTilesKernels,
                                      points + s * kPanel + v * kFewTilesLanes, kStep);
      }
    }
    AddRow<kVectors>(parts[kPart], kRow, points, accumulate);
  }
};

template <int kVectors, int kStride>
void AddFewTilesProducts(const float* HWY_RESTRICT kernels, int64_t kernel_step, const FewTilesSums* parts,
                         bool accumulate, const FewTilesAsk& ask, float* HWY_RESTRICT work) {
  const WinogradTag d;
  for (int s = 0; s < kFewTilesSources; ++s) {
    for (int v = 0; v < kVectors; ++v) {
      WinogradVec taps[kFewTilesTaps];
      LoadTaps(kernels + s * kernel_step + v * kFewTilesKernels, taps);
#pragma GCC unroll 9
      for (int k = 0; k < kFewTilesTaps; ++k) {
        hn::Store(taps[k], d, work + (s * kVectors + v) * kFewTilesKernels + k * kFewTilesLanes);
      }
    }
  }
  const KernelRows<kVectors, kStride> rows{parts, accumulate, ask, work, work + FewTilesTapFloats(kVectors)};
  rows.template Add<0, 0>();
  rows.template Add<0, 1>();
  rows.template Add<0, 2>();
  rows.template Add<0, 3>();
  rows.template Add<0, 4>();
  rows.template Add<0, 5>();
  if constexpr (kStride > 1) {
    rows.template Add<kMiddleOfRows, 0>();
    rows.template Add<kMiddleOfColumns, 0>();
    rows.template Add<kMiddle, 0>();
  }
}

// [output][vector][lane]
template <int kVectors>
using FewTilesSum = float[kFewTilesOutputs][kVectors][kFewTilesLanes];

// A point's sums of products over all tiles.
template <int kVectors>
HWY_INLINE void SumPoint(const FewTilesProducts& part, int point, FewTilesSum<kVectors>& to) {
  const WinogradTag d;
  const TileRange& range = part.at->ranges[point];
  const float* HWY_RESTRICT input = part.inputs.numbers + point * part.inputs.point_step + range.first * kFewTilesLanes;
  const float* HWY_RESTRICT output =
      part.outputs.numbers + point * part.outputs.point_step + range.first * kFewTilesLanes;
  WinogradVec acc[kFewTilesOutputs][kVectors];
#pragma GCC unroll 8
  for (int o = 0; o < kFewTilesOutputs; ++o) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) acc[o][v] = hn::Zero(d);
  }
  for (int t = 0; t < range.count; ++t, input += kFewTilesLanes, output += kFewTilesLanes) {
    WinogradVec in[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) in[v] = hn::Load(d, input + v * part.input_step);
#pragma GCC unroll 8
    for (int o = 0; o < kFewTilesOutputs; ++o) {
      const WinogradVec out = hn::Set(d, output[o]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) acc[o][v] = hn::MulAdd(out, in[v], acc[o][v]);
    }
  }
#pragma GCC unroll 8
  for (int o = 0; o < kFewTilesOutputs; ++o) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) hn::Store(acc[o][v], d, to[o][v]);
  }
}

// The sums at six points, `step` apart, transformed back: kTaps of each kernel.
template <int kVectors, int kTaps, class Store>
HWY_INLINE void SumLine(const FewTilesProducts& part, int first, int step, const Store& store) {
  const WinogradTag d;
  HWY_ALIGN FewTilesSum<kVectors> sums[kWinogradPoints];
  for (int p = 0; p < kWinogradPoints; ++p) SumPoint<kVectors>(part, first + p * step, sums[p]);
  for (int o = 0; o < kFewTilesOutputs; ++o) {
    for (int v = 0; v < kVectors; ++v) {
      WinogradVec from[kWinogradPoints], taps[kTaps];
#pragma GCC unroll 6
      for (int p = 0; p < kWinogradPoints; ++p) from[p] = hn::Load(d, sums[p][o][v]);
      ResultLaw<kWinogradPoints, kTaps>::Apply(from, taps);
#pragma GCC unroll 3
      for (int tap = 0; tap < kTaps; ++tap) store(o, v, tap, taps[tap]);
    }
  }
}

// Of some kernels: one axis of a square transformed back.
template <int kVectors, int kTaps>
struct Halves {
  HWY_ALIGN float numbers[kFewTilesOutputs][kVectors][kTaps][kWinogradPoints][kFewTilesLanes];

  HWY_INLINE void Make(const FewTilesProducts& part, const FewTilesAsk& ask) {
    const WinogradTag d;
    for (int x = 0; x < kWinogradPoints; ++x) {
      for (int o = 0; o < kFewTilesOutputs; ++o) AskForSixth(ask, o, x);
      SumLine<kVectors, kTaps>(part, x, kWinogradPoints, [&](int o, int v, int y, WinogradVec half) HWY_ATTR {
        hn::Store(half, d, numbers[o][v][y][x]);
      });
    }
  }
  // Row y of taps.
  HWY_INLINE void Row(int o, int v, int y, WinogradVec* HWY_RESTRICT taps) const {
    const WinogradTag d;
    WinogradVec from[kWinogradPoints];
#pragma GCC unroll 6
    for (int x = 0; x < kWinogradPoints; ++x) from[x] = hn::Load(d, numbers[o][v][y][x]);
    ResultLaw<kWinogradPoints, kTaps>::Apply(from, taps);
  }
};

template <int kVectors>
void MakeFewTilesGradients(const FewTilesProducts* parts, const FewTilesAsk& ask, float* HWY_RESTRICT to,
                           int64_t to_step) {
  Halves<kVectors, 3> halves;
  halves.Make(*parts, ask);
  for (int o = 0; o < kFewTilesOutputs; ++o) {
    for (int v = 0; v < kVectors; ++v) {
      WinogradVec taps[kFewTilesTaps];
#pragma GCC unroll 3
      for (int y = 0; y < 3; ++y) halves.Row(o, v, y, taps + 3 * y);
      StoreTaps(taps, to + o * to_step + v * kFewTilesKernels);
    }
  }
}

template <int kVectors>
void MakeStridedFewTilesGradients(const FewTilesProducts* parts, const FewTilesAsk& ask, float* HWY_RESTRICT to,
                                  int64_t to_step) {
  const WinogradTag d;
  Halves<kVectors, 2> corners;
  corners.Make(parts[kCorners], ask);
  HWY_ALIGN FewTilesSum<kVectors> lines[2][2], middle;
  for (int axis = 0; axis < 2; ++axis) {
    SumLine<kVectors, 2>(parts[kMiddleOfRows + axis], 0, 1, [&](int o, int v, int tap, WinogradVec number) HWY_ATTR {
      hn::Store(number, d, lines[axis][tap][o][v]);
    });
  }
  SumPoint<kVectors>(parts[kMiddle], 0, middle);
  for (int o = 0; o < kFewTilesOutputs; ++o) {
    for (int v = 0; v < kVectors; ++v) {
      WinogradVec first[2], last[2];
      corners.Row(o, v, 0, first);
      corners.Row(o, v, 1, last);
      WinogradVec taps[kFewTilesTaps] = {first[0],
                                         hn::Load(d, lines[0][0][o][v]),
                                         first[1],
                                         hn::Load(d, lines[1][0][o][v]),
                                         hn::Load(d, middle[o][v]),
                                         hn::Load(d, lines[1][1][o][v]),
                                         last[0],
                                         hn::Load(d, lines[0][1][o][v]),
                                         last[1]};
      StoreTaps(taps, to + o * to_step + v * kFewTilesKernels);
    }
  }
}

template <int kVectors>
constexpr FewTilesKernels FewTilesOf() {
  return {{nullptr, &AddFewTilesProducts<kVectors, 1>, &AddFewTilesProducts<kVectors, 2>},
          {nullptr, &MakeFewTilesGradients<kVectors>, &MakeStridedFewTilesGradients<kVectors>}};
}

inline const FewTilesKernels* FewTilesOfTarget() {
  static constexpr FewTilesKernels kKernels[kMostFewTilesVectors + 1] = {{}, FewTilesOf<1>(), FewTilesOf<2>()};
  return kKernels;
}

#else

inline const FewTilesKernels* FewTilesOfTarget() { return nullptr; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_FEW_TILES_BODY_INL_H_
