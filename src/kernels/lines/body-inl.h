// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_LINES_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_LINES_BODY_INL_H_
#undef CANOPY_KERNELS_LINES_BODY_INL_H_
#else
#define CANOPY_KERNELS_LINES_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "kernels/lines/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline void FillZero(float* to, int64_t count) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += lanes) hn::StoreU(hn::Zero(d), d, to + i);
}

// to[0, count) = from[0, count), with whole vectors stored: what follows is zeros that are overwritten or wanted.
// Reads nothing past from[count). REQUIRES: 0 < count < a vector's lanes.
inline void StoreTail(const float* HWY_RESTRICT from, int64_t count, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
#if HWY_MEM_OPS_MIGHT_FAULT
  hn::StoreU(hn::Zero(d), d, to);
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
#else
  hn::StoreU(hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from), d, to);
#endif
}

inline void FetchLine(const float* HWY_RESTRICT source, const Segment* HWY_RESTRICT segments, int64_t segment_count,
                      int64_t length, float* HWY_RESTRICT line) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t done = 0;
  for (int64_t s = 0; s < segment_count; ++s) {
    const Segment segment = segments[s];
    if (segment.begin > done) FillZero(line + done, segment.begin - done);
    const float* from = source + segment.source;
    float* to = line + segment.begin;
    int64_t i = 0;
    for (; i + lanes <= segment.count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    if (i < segment.count) StoreTail(from + i, segment.count - i, to + i);
    done = segment.begin + segment.count;
  }
  if (done < length) FillZero(line + done, length - done);
}

#if HWY_TARGET == HWY_SCALAR
inline void Interleave4(const float* const lines[4], int64_t count, int64_t stride, float* HWY_RESTRICT to) {
  for (int64_t i = 0; i < count; ++i) {
    for (int r = 0; r < 4; ++r) to[i * stride + r] = lines[r][i];
  }
}
#else
// Within each 128-bit block, four rows of four become four columns of four.
template <class D, class V>
HWY_INLINE void TransposeBlocks(D d, V& r0, V& r1, V& r2, V& r3) {
  const hn::RepartitionToWide<D> dw;
  const V a0 = hn::InterleaveLower(d, r0, r1), a1 = hn::InterleaveLower(d, r2, r3);
  const V b0 = hn::InterleaveUpper(d, r0, r1), b1 = hn::InterleaveUpper(d, r2, r3);
  r0 = hn::BitCast(d, hn::InterleaveLower(dw, hn::BitCast(dw, a0), hn::BitCast(dw, a1)));
  r1 = hn::BitCast(d, hn::InterleaveUpper(dw, hn::BitCast(dw, a0), hn::BitCast(dw, a1)));
  r2 = hn::BitCast(d, hn::InterleaveLower(dw, hn::BitCast(dw, b0), hn::BitCast(dw, b1)));
  r3 = hn::BitCast(d, hn::InterleaveUpper(dw, hn::BitCast(dw, b0), hn::BitCast(dw, b1)));
}

inline void Interleave4(const float* const lines[4], int64_t count, int64_t stride, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  HWY_ALIGN float columns[4][kLanes];
  for (int64_t i = 0; i < count; i += kLanes) {
    auto r0 = hn::LoadU(d, lines[0] + i), r1 = hn::LoadU(d, lines[1] + i);
    auto r2 = hn::LoadU(d, lines[2] + i), r3 = hn::LoadU(d, lines[3] + i);
    TransposeBlocks(d, r0, r1, r2, r3);
    hn::Store(r0, d, columns[0]);
    hn::Store(r1, d, columns[1]);
    hn::Store(r2, d, columns[2]);
    hn::Store(r3, d, columns[3]);
    const int64_t rest = HWY_MIN(kLanes, count - i);
    if (rest == kLanes) {
#pragma GCC unroll 16
      for (int64_t j = 0; j < kLanes; ++j) std::memcpy(to + j * stride, &columns[j % 4][j / 4 * 4], 16);
    } else {
      for (int64_t j = 0; j < rest; ++j) std::memcpy(to + j * stride, &columns[j % 4][j / 4 * 4], 16);
    }
    to += kLanes * stride;
  }
}

#endif

inline bool AnyNonfinite(const float* line, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr uint32_t kExponent = 0x7F800000u;
  const auto exponent = hn::Set(du, kExponent);
  auto found = hn::MaskFromVec(hn::Zero(du));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::BitCast(du, hn::LoadU(d, line + i));
    found = hn::Or(found, hn::Eq(hn::And(bits, exponent), exponent));
  }
  bool tail = false;
  for (; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, line + i, sizeof(bits));
    tail |= (bits & kExponent) == kExponent;
  }
  return tail || !hn::AllFalse(du, found);
}

inline void AddLine(const float* HWY_RESTRICT from, int64_t count, float* HWY_RESTRICT to) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += lanes) hn::Store(hn::Add(hn::Load(d, to + i), hn::Load(d, from + i)), d, to + i);
}

inline const LineKernels& LinesOfTarget() {
  static const LineKernels kernels = {&FetchLine, &Interleave4, &AnyNonfinite, &AddLine};
  return kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_LINES_BODY_INL_H_
