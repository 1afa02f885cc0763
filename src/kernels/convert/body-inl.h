// SPDX-License-Identifier: Apache-2.0
// The rows of contract.h and the choice among them, for the instruction set being compiled.
#if defined(CANOPY_KERNELS_CONVERT_BODY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_CONVERT_BODY_INL_H_
#undef CANOPY_KERNELS_CONVERT_BODY_INL_H_
#else
#define CANOPY_KERNELS_CONVERT_BODY_INL_H_
#endif

#include "kernels/convert/contract.h"
#include "kernels/convert/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels::convert {
namespace HWY_NAMESPACE {

template <DType kType, InputRounding kRounding, bool kSaturate>
void LoadRow(const void* src, int64_t count, float* dst) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const uint8_t* from = static_cast<const uint8_t*>(src);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = LoadVec<kType>(d, from + i * numerics::ElementBytes(kType));
    hn::StoreU(RoundVec<kRounding, kSaturate>(d, v), d, dst + i);
  }
  if (i < count) {
    const auto v = LoadVecN<kType>(d, from + i * numerics::ElementBytes(kType), count - i);
    StoreVecN<DType::kFloat32, false>(d, RoundVec<kRounding, kSaturate>(d, v), dst + i, count - i);
  }
}

template <DType kType, bool kSaturate>
void StoreRow(const float* src, int64_t count, void* dst) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  uint8_t* to = static_cast<uint8_t*>(dst);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    StoreVec<kType, kSaturate>(d, hn::LoadU(d, src + i), to + i * numerics::ElementBytes(kType));
  }
  if (i < count) {
    const auto v = LoadVecN<DType::kFloat32>(d, src + i, count - i);
    StoreVecN<kType, kSaturate>(d, v, to + i * numerics::ElementBytes(kType), count - i);
  }
}

template <DType kType, bool kSaturate>
LoadRowFn LoadRowFor(InputRounding rounding) {
  switch (rounding) {
    case InputRounding::kNone:
      break;
    case InputRounding::kFloat16:
      return LoadRow<kType, InputRounding::kFloat16, kSaturate>;
    case InputRounding::kBFloat16:
      return LoadRow<kType, InputRounding::kBFloat16, kSaturate>;
    case InputRounding::kHfloat32x11:
      return LoadRow<kType, InputRounding::kHfloat32x11, kSaturate>;
    case InputRounding::kHfloat32x10:
      return LoadRow<kType, InputRounding::kHfloat32x10, kSaturate>;
  }
  return LoadRow<kType, InputRounding::kNone, false>;
}

template <DType kType>
LoadRowFn ChooseLoadRow(InputRounding rounding, bool saturate) {
  return saturate ? LoadRowFor<kType, true>(rounding) : LoadRowFor<kType, false>(rounding);
}

template <DType kType>
StoreRowFn ChooseStoreRow(bool saturate) {
  return saturate ? StoreRow<kType, true> : StoreRow<kType, false>;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels::convert
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_CONVERT_BODY_INL_H_
