// SPDX-License-Identifier: Apache-2.0
// Kernels of 3x3 as they lie in memory, nine numbers each, and tap by tap in vectors. Compiled once per target.
#if defined(CANOPY_KERNELS_FEW_TILES_TAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_FEW_TILES_TAPS_INL_H_
#undef CANOPY_KERNELS_FEW_TILES_TAPS_INL_H_
#else
#define CANOPY_KERNELS_FEW_TILES_TAPS_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/few_tiles/contract.h"
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

#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_FEW_TILES_TAPS_INL_H_
