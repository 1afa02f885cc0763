// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_
#undef CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_
#else
#define CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <atomic>
#include <type_traits>
#include <utility>

#include "kernels/ask.h"
#include "kernels/gather_gemm/contract.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/gather_gemm/tiles-inl.h"

struct GatherMath {
  static constexpr int kRegisters = CANOPY_VECTOR_REGISTERS;
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  static constexpr bool kFolds = CANOPY_FOLDED_FACTORS != 0;

  static HWY_INLINE V Zero() { return hn::Zero(D()); }
  static HWY_INLINE V Load(const float* from) { return hn::LoadU(D(), from); }
  static HWY_INLINE void Store(V v, float* to) { hn::StoreU(v, D(), to); }
  static HWY_INLINE void Stream(V v, float* to) { hn::Stream(v, D(), to); }
  static HWY_INLINE V Broadcast(const float* from) { return hn::Set(D(), *from); }
  static HWY_INLINE V Add(V x, V y) { return hn::Add(x, y); }
  static HWY_INLINE V MulAdd(V x, V y, V sum) { return hn::MulAdd(x, y, sum); }
#if CANOPY_FOLDED_FACTORS
  // GCC 12 would take a factor's register for the sum where it can, and copy vectors then.
  static HWY_INLINE void AddProduct(V x, V y, V* sum) {
    asm("vfmadd231ps %2, %1, %0" : "+v"(sum->raw) : "v"(y.raw), "v"(x.raw));
  }
  static HWY_INLINE void AddProduct(const float* x, V y, V* sum) {
    asm("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(sum->raw) : "v"(y.raw), "m"(*x));
  }
#else
  static HWY_INLINE void AddProduct(V x, V y, V* sum) { *sum = MulAdd(x, y, *sum); }
  static HWY_INLINE void AddProduct(const float* x, V y, V* sum) { AddProduct(Broadcast(x), y, sum); }
#endif

#if HWY_TARGET == HWY_SCALAR || HWY_MEM_OPS_MIGHT_FAULT
  static constexpr bool kMasks = false;
#else
  static constexpr bool kMasks = true;
  using M = decltype(hn::FirstN(D(), 0));

  static HWY_INLINE M First(int64_t lanes) {
    return hn::FirstN(D(), static_cast<size_t>(HWY_MIN(HWY_MAX(lanes, 0), kLanes)));
  }
  static HWY_INLINE M Lanes(int64_t begin, int64_t end) { return hn::AndNot(First(begin), First(end)); }
  static HWY_INLINE V Pick(M one, const float* from_one, M other, const float* from_other) {
    return hn::Or(hn::MaskedLoad(one, D(), from_one), hn::MaskedLoad(other, D(), from_other));
  }
  static HWY_INLINE void Place(V v, M lanes, float* to) { hn::BlendedStore(v, lanes, D(), to); }
#endif
};

inline GatherTilesList GatherTilesOfTarget() { return ListGatherTiles<GatherMath>(); }

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_
