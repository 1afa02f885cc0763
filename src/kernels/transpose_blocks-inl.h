// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_TRANSPOSE_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_TRANSPOSE_BLOCKS_INL_H_
#undef CANOPY_KERNELS_TRANSPOSE_BLOCKS_INL_H_
#else
#define CANOPY_KERNELS_TRANSPOSE_BLOCKS_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
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
#endif

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_TRANSPOSE_BLOCKS_INL_H_
