// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_FEW_TILES_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_FEW_TILES_BODY_INL_H_
#undef CANOPY_KERNELS_FEW_TILES_BODY_INL_H_
#else
#define CANOPY_KERNELS_FEW_TILES_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/few_tiles/contract.h"
#include "kernels/streams.h"
#include "kernels/transpose_blocks-inl.h"
#include "kernels/winograd/laws-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// Lanes of a, then of b, by number; Highway has it from 1.0.5 on only.
HWY_INLINE WinogradVec LookUp(WinogradVec a, WinogradVec b, const int32_t* HWY_RESTRICT lanes) {
  const hn::RebindToSigned<WinogradTag> di;
  return WinogradVec{_mm512_permutex2var_ps(a.raw, hn::Load(di, lanes).raw, b.raw)};
}

// Four numbers of kernels `first`, first + 4, first + 8 and first + 12 in a block of lanes each.
HWY_INLINE WinogradVec FourOfFour(const float* from) {
  const WinogradTag d;
  constexpr int kStep = 4 * kFewTilesTaps;
  const WinogradVec low = hn::IfThenElse(hn::FirstN(d, 4), hn::LoadDup128(d, from), hn::LoadDup128(d, from + kStep));
  const WinogradVec high =
      hn::IfThenElse(hn::FirstN(d, 12), hn::LoadDup128(d, from + 2 * kStep), hn::LoadDup128(d, from + 3 * kStep));
  return hn::IfThenElse(hn::FirstN(d, 8), low, high);
}

// taps[k] = number k of each kernel.
HWY_INLINE void LoadTaps(const float* HWY_RESTRICT from, WinogradVec* HWY_RESTRICT taps) {
  const WinogradTag d;
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) taps[4 * half + i] = FourOfFour(from + i * kFewTilesTaps + 4 * half);
    TransposeBlocks(d, taps[4 * half], taps[4 * half + 1], taps[4 * half + 2], taps[4 * half + 3]);
  }
  // The last number is that of lanes 0 and 9 from each second one on; from the last pair on, nothing lies behind.
  HWY_ALIGN static constexpr int32_t kPairs[16] = {0, 9, 16, 25, 0, 9, 16, 25, 0, 9, 16, 25, 0, 9, 22, 31};
  const float* last = from + kFewTilesTaps - 1;
  constexpr int kPair = 2 * kFewTilesTaps;
  const auto four = [&](int pair, int at)
                        HWY_ATTR { return LookUp(hn::LoadU(d, last + pair * kPair), hn::LoadU(d, last + at), kPairs); };
  const WinogradVec low = hn::IfThenElse(hn::FirstN(d, 4), four(0, kPair), four(2, 3 * kPair));
  const WinogradVec high = hn::IfThenElse(hn::FirstN(d, 12), four(4, 5 * kPair), four(6, 7 * kPair - 6));
  taps[8] = hn::IfThenElse(hn::FirstN(d, 8), low, high);
}

// The other way round.
HWY_INLINE void StoreTaps(WinogradVec* HWY_RESTRICT taps, float* HWY_RESTRICT to) {
  const WinogradTag d;
  const hn::Half<WinogradTag> half;
  TransposeBlocks(d, taps[0], taps[1], taps[2], taps[3]);
  TransposeBlocks(d, taps[4], taps[5], taps[6], taps[7]);
  HWY_ALIGN float last[kFewTilesLanes];
  hn::Store(taps[8], d, last);
  HWY_ALIGN static constexpr int32_t kLower[16] = {0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23};
  HWY_ALIGN static constexpr int32_t kUpper[16] = {8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31};
  constexpr int kStep = 4 * kFewTilesTaps;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    float* at = to + i * kFewTilesTaps;
    const WinogradVec first = LookUp(taps[i], taps[4 + i], kLower);
    const WinogradVec second = LookUp(taps[i], taps[4 + i], kUpper);
    hn::StoreU(hn::LowerHalf(half, first), half, at);
    hn::StoreU(hn::UpperHalf(half, first), half, at + kStep);
    hn::StoreU(hn::LowerHalf(half, second), half, at + 2 * kStep);
    hn::StoreU(hn::UpperHalf(half, second), half, at + 3 * kStep);
  }
#pragma GCC unroll 16
  for (int l = 0; l < kFewTilesLanes; ++l) to[l * kFewTilesTaps + 8] = last[l];
}

inline constexpr int kFewTilesInRegisters = 16;  // whose sums stay there
inline constexpr int kFewTilesPointStep = kFewTilesSources * kFewTilesLanes;

// Sums that wait for one another are several then.
constexpr int FewTilesAtOnce(int tiles) { return tiles >= 5 ? 1 : tiles >= 3 ? 2 : tiles == 2 ? 4 : 8; }

// The kernels' products of kTiles tiles, the first of which is number `skip` of those that have a point, at some
// points. kernels[point][source][lane]
template <int kTiles>
void AddPoints(const FewTilesSums& part, const float* part_kernels, bool accumulate, const int32_t* order,
               const int32_t* end, int64_t skip) {
  constexpr int kAtOnce = FewTilesAtOnce(kTiles);
  const WinogradTag d;
  const int64_t point_step = part.windows.point_step, sums_step = part.tiles * kFewTilesLanes;
  const float* numbers = part.windows.numbers;
  for (; order != end; ++order) {
    const int64_t point = *order, first = part.at->ranges[point].first + skip;
    const float* HWY_RESTRICT kernels = part_kernels + point * kFewTilesPointStep;
    const float* HWY_RESTRICT windows = numbers + point * point_step + first * kFewTilesLanes;
    float* HWY_RESTRICT sums = part.sums + point * sums_step + first * kFewTilesLanes;
    WinogradVec acc[kAtOnce][kTiles];
#pragma GCC unroll 8
    for (int u = 0; u < kAtOnce; ++u) {
#pragma GCC unroll 16
      for (int t = 0; t < kTiles; ++t) acc[u][t] = hn::Zero(d);
    }
#pragma GCC unroll 8
    for (int s = 0; s < kFewTilesSources; ++s) {
      const WinogradVec kernel = hn::Load(d, kernels + s * kFewTilesLanes);
#pragma GCC unroll 16
      for (int t = 0; t < kTiles; ++t) {
        acc[s % kAtOnce][t] = hn::MulAdd(hn::Set(d, windows[t * kFewTilesLanes + s]), kernel, acc[s % kAtOnce][t]);
      }
    }
#pragma GCC unroll 16
    for (int t = 0; t < kTiles; ++t) {
      WinogradVec sum = acc[0][t];
#pragma GCC unroll 8
      for (int u = 1; u < kAtOnce; ++u) sum = hn::Add(sum, acc[u][t]);
      // Last, so that the long sum is rounded once for so many terms.
      if (accumulate) sum = hn::Add(sum, hn::Load(d, sums + t * kFewTilesLanes));
      hn::Store(sum, d, sums + t * kFewTilesLanes);
    }
  }
}

using AddPointsFn = void (*)(const FewTilesSums&, const float*, bool, const int32_t*, const int32_t*, int64_t);

template <int kTiles>
void FillAddPoints(AddPointsFn* at) {
  at[kTiles] = &AddPoints<kTiles>;
  if constexpr (kTiles > 1) FillAddPoints<kTiles - 1>(at);
}

inline void AddPart(const FewTilesSums& part, const float* kernels, bool accumulate) {
  static const struct Table {
    AddPointsFn add[kFewTilesInRegisters + 1]{};
    Table() { FillAddPoints<kFewTilesInRegisters>(add); }
  } table;
  const FewTilesPoints& at = *part.at;
  const int32_t *order = at.order.data(), *last = order + at.count;
  while (order != last) {
    const int64_t count = at.ranges[*order].count;
    const int32_t* end = order;
    while (end != last && at.ranges[*end].count == count) ++end;
    const int64_t rounds = (count + kFewTilesInRegisters - 1) / kFewTilesInRegisters;
    for (int64_t round = 0; round < rounds; ++round) {
      const int64_t skip = round * count / rounds;
      table.add[(round + 1) * count / rounds - skip](part, kernels, accumulate, order, end, skip);
    }
    order = end;
  }
}

// Numbers of kernels, mirrored, at the points of all parts, those of each point kFewTilesPointStep apart.
template <int kStride>
HWY_INLINE void MakePoints(const WinogradVec* HWY_RESTRICT taps, float* HWY_RESTRICT points) {
  const WinogradTag d;
  constexpr int kLast = 2;  // of a row, or a column
  const auto store = [&](int point, WinogradVec value)
                         HWY_ATTR { hn::Store(value, d, points + point * kFewTilesPointStep); };
  const auto store_square = [&](int y, int x, WinogradVec value) HWY_ATTR { store(y * kWinogradPoints + x, value); };
  if constexpr (kStride == 1) {
    Transform<KernelLaw<3>, KernelLaw<3>>([&](int y, int x) { return taps[3 * (kLast - y) + kLast - x]; },
                                          store_square);
  } else {
    Transform<KernelLaw<2>, KernelLaw<2>>([&](int y, int x) { return taps[3 * (kLast - 2 * y) + kLast - 2 * x]; },
                                          store_square);
    constexpr int kOfRows = kSquarePoints, kOfColumns = kOfRows + kWinogradPoints;
    Transform<OnlyOne, KernelLaw<2>>([&](int, int x) { return taps[3 * (kLast - 2 * x) + 1]; },
                                     [&](int, int x, WinogradVec value) HWY_ATTR { store(kOfRows + x, value); });
    Transform<OnlyOne, KernelLaw<2>>([&](int, int x) { return taps[3 + kLast - 2 * x]; },
                                     [&](int, int x, WinogradVec value) HWY_ATTR { store(kOfColumns + x, value); });
    store(kOfColumns + kWinogradPoints, taps[4]);
  }
}

template <int kStride>
void AddFewTilesProducts(const float* HWY_RESTRICT kernels, int64_t kernel_step, const FewTilesSums* parts,
                         bool accumulate, const FewTilesAsk& ask, float* HWY_RESTRICT points) {
  for (int s = 0; s < kFewTilesSources; ++s) {
    const char* coming = ask.first + s * ask.step;
    for (int32_t line = 0; line < ask.lines; ++line) __builtin_prefetch(coming + line * kMemoryLine, 0, 3);
    WinogradVec taps[kFewTilesTaps];
    LoadTaps(kernels + s * kernel_step, taps);
    MakePoints<kStride>(taps, points + s * kFewTilesLanes);
  }
  for (int part = 0; part < FewTilesParts(kStride); ++part) {
    AddPart(parts[part], points, accumulate);
    points += parts[part].at->count * kFewTilesPointStep;
  }
}

// acc[o] = a point's sum of products over all tiles.
HWY_INLINE void SumPoint(const FewTilesProducts& part, int point, WinogradVec* HWY_RESTRICT acc) {
  const WinogradTag d;
  const TileRange& range = part.at->ranges[point];
  const float* input = part.inputs.numbers + point * part.inputs.point_step + range.first * kFewTilesLanes;
  const float* output = part.outputs.numbers + point * part.outputs.point_step + range.first * kFewTilesLanes;
#pragma GCC unroll 4
  for (int o = 0; o < kFewTilesOutputs; ++o) acc[o] = hn::Zero(d);
  for (int t = 0; t < range.count; ++t, input += kFewTilesLanes, output += kFewTilesLanes) {
    const WinogradVec in = hn::Load(d, input);
#pragma GCC unroll 4
    for (int o = 0; o < kFewTilesOutputs; ++o) acc[o] = hn::MulAdd(hn::Set(d, output[o]), in, acc[o]);
  }
}

// The sums at six points, `step` apart, transformed back to kTaps.
template <int kTaps>
HWY_INLINE void SumLine(const FewTilesProducts& part, int first, int step, WinogradVec (*HWY_RESTRICT taps)[kTaps]) {
  WinogradVec acc[kFewTilesOutputs][kWinogradPoints];
#pragma GCC unroll 6
  for (int y = 0; y < kWinogradPoints; ++y) {
    WinogradVec point[kFewTilesOutputs];
    SumPoint(part, first + y * step, point);
#pragma GCC unroll 4
    for (int o = 0; o < kFewTilesOutputs; ++o) acc[o][y] = point[o];
  }
#pragma GCC unroll 4
  for (int o = 0; o < kFewTilesOutputs; ++o) ResultLaw<kWinogradPoints, kTaps>::Apply(acc[o], taps[o]);
}

// Of some kernels: one axis of a square transformed back.
template <int kTaps>
struct Halves {
  HWY_ALIGN float numbers[kFewTilesOutputs][kTaps][kWinogradPoints][kFewTilesLanes];

  HWY_INLINE void Make(const FewTilesProducts& part) {
    const WinogradTag d;
    for (int x = 0; x < kWinogradPoints; ++x) {
      WinogradVec half[kFewTilesOutputs][kTaps];
      SumLine<kTaps>(part, x, kWinogradPoints, half);
#pragma GCC unroll 4
      for (int o = 0; o < kFewTilesOutputs; ++o) {
#pragma GCC unroll 3
        for (int y = 0; y < kTaps; ++y) hn::Store(half[o][y], d, numbers[o][y][x]);
      }
    }
  }
  // Row y of kernel o's taps.
  HWY_INLINE void Row(int o, int y, WinogradVec* HWY_RESTRICT taps) const {
    const WinogradTag d;
    WinogradVec from[kWinogradPoints];
#pragma GCC unroll 6
    for (int x = 0; x < kWinogradPoints; ++x) from[x] = hn::Load(d, numbers[o][y][x]);
    ResultLaw<kWinogradPoints, kTaps>::Apply(from, taps);
  }
};

inline void AskForGradients(const FewTilesAsk& ask, int o) {
  const char* coming = ask.first + o * ask.step;
  for (int32_t line = 0; line < ask.lines; ++line) __builtin_prefetch(coming + line * kMemoryLine, 1, 3);
}

inline void MakeFewTilesGradients(const FewTilesProducts* parts, const FewTilesAsk& ask, float* HWY_RESTRICT to,
                                  int64_t to_step) {
  Halves<3> halves;
  halves.Make(*parts);
  for (int o = 0; o < kFewTilesOutputs; ++o) {
    AskForGradients(ask, o);
    WinogradVec taps[kFewTilesTaps];
#pragma GCC unroll 3
    for (int y = 0; y < 3; ++y) halves.Row(o, y, taps + 3 * y);
    StoreTaps(taps, to + o * to_step);
  }
}

inline void MakeStridedFewTilesGradients(const FewTilesProducts* parts, const FewTilesAsk& ask, float* HWY_RESTRICT to,
                                         int64_t to_step) {
  const WinogradTag d;
  Halves<2> corners;
  corners.Make(parts[kCorners]);
  HWY_ALIGN float lines[2][kFewTilesOutputs][2][kFewTilesLanes], middle[kFewTilesOutputs][kFewTilesLanes];
  for (int axis = 0; axis < 2; ++axis) {
    WinogradVec line[kFewTilesOutputs][2];
    SumLine<2>(parts[kMiddleOfRows + axis], 0, 1, line);
#pragma GCC unroll 4
    for (int o = 0; o < kFewTilesOutputs; ++o) {
      hn::Store(line[o][0], d, lines[axis][o][0]);
      hn::Store(line[o][1], d, lines[axis][o][1]);
    }
  }
  WinogradVec one[kFewTilesOutputs];
  SumPoint(parts[kMiddle], 0, one);
#pragma GCC unroll 4
  for (int o = 0; o < kFewTilesOutputs; ++o) hn::Store(one[o], d, middle[o]);
  for (int o = 0; o < kFewTilesOutputs; ++o) {
    AskForGradients(ask, o);
    WinogradVec first[2], last[2];
    corners.Row(o, 0, first);
    corners.Row(o, 1, last);
    WinogradVec taps[kFewTilesTaps] = {first[0],
                                       hn::Load(d, lines[0][o][0]),
                                       first[1],
                                       hn::Load(d, lines[1][o][0]),
                                       hn::Load(d, middle[o]),
                                       hn::Load(d, lines[1][o][1]),
                                       last[0],
                                       hn::Load(d, lines[0][o][1]),
                                       last[1]};
    StoreTaps(taps, to + o * to_step);
  }
}

inline const FewTilesKernels* FewTilesOfTarget() {
  static constexpr FewTilesKernels kKernels{{nullptr, &AddFewTilesProducts<1>, &AddFewTilesProducts<2>},
                                            {nullptr, &MakeFewTilesGradients, &MakeStridedFewTilesGradients}};
  return &kKernels;
}

#else

inline const FewTilesKernels* FewTilesOfTarget() { return nullptr; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_FEW_TILES_BODY_INL_H_
