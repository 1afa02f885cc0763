// SPDX-License-Identifier: Apache-2.0
// Compiled once per target.
#if defined(CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_
#undef CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_
#else
#define CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_
#endif

#include <hwy/highway.h>

#include <utility>

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

  static HWY_INLINE V Zero() { return hn::Zero(D()); }
  static HWY_INLINE V Load(const float* from) { return hn::LoadU(D(), from); }
  static HWY_INLINE void Store(V v, float* to) { hn::StoreU(v, D(), to); }
  static HWY_INLINE V Broadcast(const float* from) { return hn::Set(D(), *from); }
  static HWY_INLINE V Add(V x, V y) { return hn::Add(x, y); }
  static HWY_INLINE V MulAdd(V x, V y, V sum) { return hn::MulAdd(x, y, sum); }
};

inline GatherTilesList GatherTilesOfTarget() { return ListGatherTiles<GatherMath>(); }

}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_GATHER_GEMM_BODY_INL_H_
