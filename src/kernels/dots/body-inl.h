// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_DOTS_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_DOTS_BODY_INL_H_
#undef CANOPY_KERNELS_DOTS_BODY_INL_H_
#else
#define CANOPY_KERNELS_DOTS_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "kernels/ask.h"
#include "kernels/dots/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/dots/planes-inl.h"

using DotsTag = hn::CappedTag<float, 16>;
using DotsVec = hn::Vec<DotsTag>;
inline constexpr int64_t kDotsLanes = static_cast<int64_t>(hn::MaxLanes(DotsTag()));

struct DotsMath {
  static constexpr int kRegisters = CANOPY_VECTOR_REGISTERS;
  static constexpr int kLanes = static_cast<int>(kDotsLanes), kVectorElements = kLanes;
#if HWY_MEM_OPS_MIGHT_FAULT || HWY_TARGET == HWY_SCALAR
  static constexpr bool kMasks = false;
#else
  static constexpr bool kMasks = true;
#endif
  using Element = float;
  using V = DotsVec;

  static HWY_INLINE V Zero() { return hn::Zero(DotsTag()); }
  static HWY_INLINE V Load(const float* from) { return hn::LoadU(DotsTag(), from); }
  static HWY_INLINE auto First(int64_t count) { return hn::FirstN(DotsTag(), static_cast<size_t>(count)); }
  template <class Mask>
  static HWY_INLINE V LoadMasked(Mask present, const float* from) {
    return hn::MaskedLoad(present, DotsTag(), from);
  }
  static HWY_INLINE V LoadSums(const float* from) { return Load(from); }
  static HWY_INLINE void StoreSums(V v, float* to) { hn::StoreU(v, DotsTag(), to); }
  static HWY_INLINE V Add(V x, V y) { return hn::Add(x, y); }
  static HWY_INLINE V AddTerms(V terms, V sum) { return hn::Add(sum, terms); }
  static HWY_INLINE V MulAdd(V x, V y, V sum) { return hn::MulAdd(x, y, sum); }
};

#if HWY_TARGET == HWY_SCALAR
inline void ReduceLanes(const float* vectors, int64_t count, float* sums) {
  for (int64_t i = 0; i < count; ++i) sums[i] = vectors[i];
}
#else
// Sums of four vectors' lanes, one below another in each block of four lanes.
HWY_INLINE DotsVec AddFour(const float* from) {
  const DotsTag d;
  const hn::Repartition<uint64_t, DotsTag> pairs;
  const auto two = [&](DotsVec a, DotsVec b)
                       HWY_ATTR { return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)); };
  const auto low = hn::BitCast(pairs, two(hn::LoadU(d, from), hn::LoadU(d, from + kDotsLanes)));
  const auto high = hn::BitCast(pairs, two(hn::LoadU(d, from + 2 * kDotsLanes), hn::LoadU(d, from + 3 * kDotsLanes)));
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, low, high)),
                 hn::BitCast(d, hn::InterleaveUpper(pairs, low, high)));
}

// The sum of the blocks of four lanes.
template <class D, class V>
HWY_INLINE hn::Vec<hn::Full128<float> > AddBlocks(D d, V v) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return AddBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

inline void ReduceLanes(const float* vectors, int64_t count, float* sums) {
  const DotsTag d;
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    hn::StoreU(AddBlocks(d, AddFour(vectors + i * kDotsLanes)), hn::Full128<float>(), sums + i);
  }
  if (i == count) return;
  HWY_ALIGN float rest[4 * kDotsLanes] = {}, last[4];
  for (int64_t j = 0; j < (count - i) * kDotsLanes; ++j) rest[j] = vectors[i * kDotsLanes + j];
  hn::StoreU(AddBlocks(d, AddFour(rest)), hn::Full128<float>(), last);
  for (int64_t j = 0; i + j < count; ++j) sums[i + j] = last[j];
}
#endif

inline const DotsKernels& DotsOfTarget() {
  static const DotsKernels kernels{ListDots<DotsMath>(), &ReduceLanes};
  return kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_DOTS_BODY_INL_H_
