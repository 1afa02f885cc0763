// SPDX-License-Identifier: Apache-2.0
// One vector of elements to FP32 and back, for packers and stores that fuse the conversion into what they do:
//   LoadVec<dtype>(d, address)                    Lanes(d) elements, any alignment, exactly
//   LoadVecN<dtype>(d, address, count)            the first count < Lanes(d) elements, zeros behind; reads no more
//   RoundVec<rounding, saturate>(d, v)            a multiplicand as the numeric rule wants it
//   StoreVec<dtype, saturate>(d, v, address)      rounded once, any alignment
//   StoreVecN<dtype, saturate>(d, v, address, count)
//   LoadFirst(d, from, count), StoreFirst(v, d, to, count)    likewise, of any type, as they are
//   LoadForm<form>, LoadFormN<form>               a multiplicand in a form of forms.h: LoadVec and RoundVec
// d is a float tag of any size. Bits as in numerics/rounding.h, but that rounding to HFLOAT32 leaves a NaN as it is;
// also with flush-to-zero and denormals-are-zero on: all arithmetic is on integers, or on normal numbers only.
// REQUIRES: the thread rounds to nearest.
#if defined(CANOPY_KERNELS_CONVERT_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CANOPY_KERNELS_CONVERT_CONVERT_INL_H_
#undef CANOPY_KERNELS_CONVERT_CONVERT_INL_H_
#else
#define CANOPY_KERNELS_CONVERT_CONVERT_INL_H_
#endif

#include "kernels/targets.h"
//
#include <hwy/highway.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/convert/forms.h"
#include "kernels/convert/tables.h"
#include "numerics/dtype.h"

// Where the processor converts FLOAT16 itself (F16C; its instructions ignore both flushing modes). Elsewhere Highway's
// PromoteTo and DemoteTo lose Inf, NaN or subnormals, so the conversion is spelled out.
#undef CANOPY_FLOAT16_INSTRUCTIONS
#if HWY_ARCH_X86 && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL)
#define CANOPY_FLOAT16_INSTRUCTIONS 1
#else
#define CANOPY_FLOAT16_INSTRUCTIONS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace canopy::kernels::convert {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using numerics::DType;
using numerics::InputRounding;

// The conversions work on patterns as signed 32-bit lanes: magnitudes are below 2^31, so signed comparison, which
// every instruction set has, orders them.
template <class D>
using PatternTag = hn::RebindToSigned<D>;
template <class D>
using Pattern = hn::Vec<PatternTag<D>>;

inline constexpr int32_t kInf = 0x7F800000;
inline constexpr int32_t kQuiet = 0x00400000;
inline constexpr int32_t kMagnitude = 0x7FFFFFFF;

template <size_t kLanes, int32_t... kNumbers>
struct Repeated {
  alignas(64) int32_t lanes[sizeof...(kNumbers)][kLanes];
  constexpr Repeated() : lanes() {
    size_t i = 0;
    for (const int32_t number : {kNumbers...}) {
      for (int32_t& lane : lanes[i]) lane = number;
      ++i;
    }
  }
};

// The same, which compilers cannot know: what is there is loaded each time.
template <class T>
HWY_INLINE const T* LoadedAnew(const T* from) {
  __asm__ volatile("" : "+r"(from));
  return from;
}

// Whether a loop may hold the numbers that a conversion needs in all lanes in registers. One whose registers are full
// takes them from memory as they are used.
enum class Held { kAll, kNone };

template <Held kHeld, class DI, int32_t... kNumbers>
class Numbers {
 public:
  HWY_INLINE Numbers() {
    if constexpr (kHeld == Held::kNone) memory_ = LoadedAnew(kInMemory.lanes);
  }

  // REQUIRES: one of kNumbers, unless all are held.
  template <int32_t kNumber>
  HWY_INLINE hn::Vec<DI> Get() const {
    if constexpr (kHeld == Held::kAll) {
      return hn::Set(DI(), kNumber);
    } else {
      return hn::LoadU(DI(), memory_[IndexOf(kNumber)]);
    }
  }

 private:
  static constexpr size_t IndexOf(int32_t wanted) {
    size_t i = 0;
    for (const int32_t number : {kNumbers...}) {
      if (number == wanted) break;
      ++i;
    }
    return i;
  }

  static constexpr Repeated<hn::MaxLanes(DI()), kNumbers...> kInMemory{};
  const int32_t (*memory_)[hn::MaxLanes(DI())];
};

template <int kDropped>
inline constexpr int32_t kOddBit = 1 << (kDropped - 4);
template <int kDropped>
inline constexpr int32_t kHalfUlp = (1 << (kDropped - 1)) - 1;

// DropBitsNearestEven of numerics/bits.h, without the shift: the low bits are left for the caller to drop. A tie beside
// an odd number is made more than a tie, by a bit that decides nothing else.
template <int kDropped, class VI, class N>
HWY_INLINE VI AddHalfUlp(VI bits, const N& numbers) {
  const VI untied = hn::OrAnd(bits, hn::ShiftRight<4>(bits), numbers.template Get<kOddBit<kDropped>>());
  return hn::Add(untied, numbers.template Get<kHalfUlp<kDropped>>());
}

// NaN to +0 and magnitudes above `greatest` (a pattern) to it: what saturation does before any rounding.
template <class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI Saturate(DI di, VI bits, int32_t greatest) {
  const VI magnitude = hn::And(bits, hn::Set(di, kMagnitude));
  const VI sign = hn::AndNot(hn::Set(di, kMagnitude), bits);
  const VI clamped = hn::Or(sign, hn::Min(magnitude, hn::Set(di, greatest)));
  return hn::IfThenZeroElse(hn::Gt(magnitude, hn::Set(di, kInf)), clamped);
}

// ---- FLOAT16 as the low 16 bits of each lane -----------------------------------------------------------------------

template <class D>
HWY_INLINE hn::Vec<D> FromFloat16Bits(D d, Pattern<D> half) {
  const PatternTag<D> di;
  const auto body = hn::ShiftLeft<13>(hn::And(half, hn::Set(di, 0x7FFF)));
  const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(di, 0x8000)));
  const auto normal = hn::Add(body, hn::Set(di, (127 - 15) << 23));
  // Exponent field 31 becomes 255; a payload becomes quiet.
  const auto special = hn::Or(hn::Or(body, hn::Set(di, kInf)),
                              hn::IfThenElseZero(hn::Gt(body, hn::Set(di, 0x1F << 23)), hn::Set(di, kQuiet)));
  // Exponent field 0: mantissa * 2^-24 as the difference of two normal numbers.
  const auto one = hn::Set(di, (127 - 14) << 23);
  const auto subnormal = hn::BitCast(di, hn::Sub(hn::BitCast(d, hn::Or(body, one)), hn::BitCast(d, one)));
  auto magnitude = hn::IfThenElse(hn::Lt(body, hn::Set(di, 1 << 23)), subnormal, normal);
  magnitude = hn::IfThenElse(hn::Gt(body, hn::Set(di, (0x1F << 23) - 1)), special, magnitude);
  return hn::BitCast(d, hn::Or(magnitude, sign));
}

template <class D>
HWY_INLINE Pattern<D> ToFloat16Bits(D d, hn::Vec<D> v) {
  const PatternTag<D> di;
  const auto bits = hn::BitCast(di, v);
  const auto magnitude = hn::And(bits, hn::Set(di, kMagnitude));
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(di, 0x8000));
  const auto normal = hn::ShiftRight<13>(
      hn::Sub(AddHalfUlp<13>(magnitude, Numbers<Held::kAll, PatternTag<D>>()), hn::Set(di, (127 - 15) << 23)));
  // Below 2^-14: adding 2^-1, whose ulp is 2^-24, rounds to that grid and leaves the multiple in the low bits.
  const auto magic = hn::Set(di, (127 - 1) << 23);
  const auto sum = hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, magic));
  const auto subnormal = hn::Sub(hn::BitCast(di, sum), magic);
  const auto nan = hn::And(hn::Or(hn::ShiftRight<13>(magnitude), hn::Set(di, 0x7E00)), hn::Set(di, 0x7FFF));
  auto half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, (127 - 14) << 23)), subnormal, normal);
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x477FEFFF)), hn::Set(di, 0x7C00), half);  // 65520 and above
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, kInf)), nan, half);
  return hn::Or(half, sign);
}

// ---- the other formats ---------------------------------------------------------------------------------------------

// In the upper half of each lane, anything in the lower.
template <Held kHeld = Held::kAll, class D>
HWY_INLINE Pattern<D> ToBFloat16Bits(D /*d*/, hn::Vec<D> v) {
  const PatternTag<D> di;
  const Numbers<kHeld, PatternTag<D>, kOddBit<16>, kHalfUlp<16>, kInf | kQuiet> numbers;
  const auto rounded = AddHalfUlp<16>(hn::BitCast(di, v), numbers);
  return hn::IfThenElse(hn::RebindMask(di, hn::IsNaN(v)), numbers.template Get<kInf | kQuiet>(), rounded);
}

// GCC would load what has several uses again for each. Loops whose registers are full it makes worse.
template <class V>
HWY_INLINE V LoadedOnce(V v) {
#if HWY_TARGET <= HWY_AVX3
  __asm__("" : "+v"(v.raw));
#endif
  return v;
}

// A NaN stays as it is, and is made quiet by what multiplies it: the instruction that would do so here takes a
// multiplier on Zen 5, a comparison and a mask do not.
template <int kMantissaBits, Held kHeld = Held::kAll, class D>
HWY_INLINE hn::Vec<D> ToHfloat32(D d, hn::Vec<D> v) {
  const PatternTag<D> di;
  if constexpr (kHeld == Held::kAll) v = LoadedOnce(v);
  constexpr int kDropped = 23 - kMantissaBits;
  constexpr int32_t kKept = -(1 << kDropped);
  const Numbers<kHeld, PatternTag<D>, kOddBit<kDropped>, kHalfUlp<kDropped>, kKept> numbers;
  const auto rounded = AddHalfUlp<kDropped>(hn::BitCast(di, v), numbers);
  const auto kept = numbers.template Get<kKept>();
#if HWY_TARGET <= HWY_AVX3
  if constexpr (hn::MaxLanes(D()) == 16) {  // GCC would keep what is masked in an instruction of its own
    const __mmask16 number = _mm512_cmp_ps_mask(v.raw, v.raw, _CMP_ORD_Q);
    return hn::BitCast(d, Pattern<D>{_mm512_mask_and_epi32(hn::BitCast(di, v).raw, number, rounded.raw, kept.raw)});
  }
#endif
  return hn::IfThenElse(hn::IsNaN(v), v, hn::BitCast(d, hn::And(rounded, kept)));
}

template <class D>
HWY_INLINE Pattern<D> ToHiFloat8Bits(D /*d*/, hn::Vec<D> v) {
  const PatternTag<D> di;
  const auto bits = hn::BitCast(di, v);
  const auto magnitude = hn::And(bits, hn::Set(di, kMagnitude));
  const auto sign = hn::And(hn::ShiftRight<24>(bits), hn::Set(di, 0x80));
  const auto inside = hn::Max(hn::Min(magnitude, hn::Set(di, kHiFloat8Last)), hn::Set(di, kHiFloat8First));
  const auto index = hn::ShiftRight<kHiFloat8Shift>(hn::Sub(inside, hn::Set(di, kHiFloat8First)));
  const auto code = hn::Or(hn::GatherIndex(di, kHiFloat8Codes.data(), index), sign);
  const auto kept = hn::IfThenElseZero(hn::Gt(magnitude, hn::Set(di, kHiFloat8First - 1)), code);
  return hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, kInf)), hn::Set(di, 0x80), kept);
}

template <class D>
HWY_INLINE Pattern<D> ToFloat8E4M3Bits(D d, hn::Vec<D> v) {
  const PatternTag<D> di;
  const auto bits = hn::BitCast(di, v);
  const auto magnitude = hn::And(bits, hn::Set(di, kMagnitude));
  const auto sign = hn::And(hn::ShiftRight<24>(bits), hn::Set(di, 0x80));
  const auto inside = hn::Min(magnitude, hn::Set(di, 0x43E00000));  // 448
  const auto normal = hn::ShiftRight<20>(
      hn::Sub(AddHalfUlp<20>(inside, Numbers<Held::kAll, PatternTag<D>>()), hn::Set(di, (127 - 7) << 23)));
  // Below 2^-6: adding 2^14, whose ulp is 2^-9, as for FLOAT16.
  const auto magic = hn::Set(di, (127 + 14) << 23);
  const auto sum = hn::Add(hn::BitCast(d, inside), hn::BitCast(d, magic));
  const auto subnormal = hn::Sub(hn::BitCast(di, sum), magic);
  const auto code = hn::IfThenElse(hn::Lt(inside, hn::Set(di, (127 - 6) << 23)), subnormal, normal);
  return hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, kInf)), hn::Set(di, 0x7F), hn::Or(code, sign));
}

// ---- the surface ---------------------------------------------------------------------------------------------------

// Elements as they lie in memory: FP32, or patterns.
template <DType kType>
using Element =
    std::conditional_t<kType == DType::kFloat32, float,
                       std::conditional_t<kType == DType::kFloat16 || kType == DType::kBFloat16, uint16_t, uint8_t>>;
template <DType kType, class D>
using ElementTag = hn::Rebind<Element<kType>, D>;

// The upper half of each lane.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> UpperHalves(D /*d*/, Pattern<D> lanes) {
#if HWY_TARGET <= HWY_AVX3
  // One instruction, where a shift and Highway's DemoteTo are three.
  if constexpr (hn::MaxLanes(D()) == 16) {
    alignas(64) static constexpr uint16_t kUpper[] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                      33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const __m512i halves = _mm512_permutexvar_epi16(_mm512_load_si512(kUpper), lanes.raw);
    return {_mm512_castsi512_si256(halves)};
  }
#endif
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> halves;
  return hn::DemoteTo(halves, hn::BitCast(PatternTag<D>(), hn::ShiftRight<16>(hn::BitCast(du, lanes))));
}

template <DType kType, class D>
HWY_INLINE hn::Vec<D> FromElements(D d, hn::Vec<ElementTag<kType, D>> elements) {
  const PatternTag<D> di;
  if constexpr (kType == DType::kFloat32) {
    return elements;
  } else if constexpr (kType == DType::kFloat16 && CANOPY_FLOAT16_INSTRUCTIONS) {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), elements));
  } else if constexpr (kType == DType::kFloat16) {
    return FromFloat16Bits(d, hn::PromoteTo(di, elements));
  } else if constexpr (kType == DType::kBFloat16) {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(di, elements)));
  } else {
    const auto& patterns = kType == DType::kHiFloat8 ? kHiFloat8Patterns : kFloat8E4M3Patterns;
    return hn::BitCast(d, hn::GatherIndex(di, patterns.data(), hn::PromoteTo(di, elements)));
  }
}

template <DType kType, bool kSaturate, Held kHeld = Held::kAll, class D>
HWY_INLINE hn::Vec<ElementTag<kType, D>> ToElements(D d, hn::Vec<D> v) {
  const PatternTag<D> di;
  const ElementTag<kType, D> elements;
  if constexpr (kSaturate) {
    constexpr int32_t kGreatest = kType == DType::kFloat32    ? 0x7F7FFFFF
                                  : kType == DType::kFloat16  ? 0x477FE000  // 65504
                                  : kType == DType::kBFloat16 ? 0x7F7F0000
                                  : kType == DType::kHiFloat8 ? 0x47000000   // 32768
                                                              : 0x43E00000;  // 448
    v = hn::BitCast(d, Saturate(di, hn::BitCast(di, v), kGreatest));
  }
  if constexpr (kType == DType::kFloat32) {
    return v;
  } else if constexpr (kType == DType::kFloat16 && CANOPY_FLOAT16_INSTRUCTIONS) {
    return hn::BitCast(elements, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
  } else if constexpr (kType == DType::kFloat16) {
    return hn::DemoteTo(elements, ToFloat16Bits(d, v));
  } else if constexpr (kType == DType::kBFloat16) {
    return UpperHalves(d, ToBFloat16Bits<kHeld>(d, v));
  } else if constexpr (kType == DType::kHiFloat8) {
    return hn::DemoteTo(elements, ToHiFloat8Bits(d, v));
  } else {
    return hn::DemoteTo(elements, ToFloat8E4M3Bits(d, v));
  }
}

template <DType kType, class D>
HWY_INLINE hn::Vec<D> LoadVec(D d, const void* address) {
  return FromElements<kType>(d, hn::LoadU(ElementTag<kType, D>(), static_cast<const Element<kType>*>(address)));
}

template <DType kType, bool kSaturate, class D>
HWY_INLINE void StoreVec(D d, hn::Vec<D> v, void* address) {
  hn::StoreU(ToElements<kType, kSaturate>(d, v), ElementTag<kType, D>(), static_cast<Element<kType>*>(address));
}

template <InputRounding kRounding, bool kSaturate, Held kHeld = Held::kAll, class D>
HWY_INLINE hn::Vec<D> RoundVec(D d, hn::Vec<D> v) {
  if constexpr (kRounding == InputRounding::kNone) return v;
  const PatternTag<D> di;
  if constexpr (kSaturate) {
    constexpr int32_t kGreatest = kRounding == InputRounding::kFloat16       ? 0x477FE000
                                  : kRounding == InputRounding::kBFloat16    ? 0x7F7F0000
                                  : kRounding == InputRounding::kHfloat32x11 ? 0x7F7FF000
                                                                             : 0x7F7FE000;
    v = hn::BitCast(d, Saturate(di, hn::BitCast(di, v), kGreatest));
  }
  if constexpr (kRounding == InputRounding::kFloat16) {
#if CANOPY_FLOAT16_INSTRUCTIONS
    const hn::Rebind<hwy::float16_t, D> d16;
    return hn::PromoteTo(d, hn::DemoteTo(d16, v));
#else
    return FromFloat16Bits(d, ToFloat16Bits(d, v));
#endif
  }
  if constexpr (kRounding == InputRounding::kBFloat16) {
    return hn::BitCast(d, hn::And(ToBFloat16Bits(d, v), hn::Set(di, static_cast<int32_t>(0xFFFF0000u))));
  }
  if constexpr (kRounding == InputRounding::kHfloat32x11) return ToHfloat32<11, kHeld>(d, v);
  if constexpr (kRounding == InputRounding::kHfloat32x10) return ToHfloat32<10, kHeld>(d, v);
}

// One number of any alignment, which Highway wants aligned where it is a float.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadOne(D d, const T* from) {
  if constexpr (!std::is_same_v<T, float>) return hn::LoadU(d, from);
  T number;
  std::memcpy(&number, from, sizeof(number));
  return hn::Set(d, number);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreOne(hn::Vec<D> v, D d, T* to) {
  if constexpr (!std::is_same_v<T, float>) return hn::StoreU(v, d, to);
  const T number = hn::GetLane(v);
  std::memcpy(to, &number, sizeof(number));
}

// Numbers as they are, of any type: the first `count` of a vector, at most all of them. Where a masked access may touch
// what it leaves out, by halves that are whole.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadFirst(D d, const T* from, size_t count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  constexpr size_t kHalf = hn::MaxLanes(D()) / 2;
  if constexpr (kHalf == 0) {
    return count == 0 ? hn::Zero(d) : LoadOne(d, from);
  } else {
    const hn::Half<D> half;
    if (count < kHalf) return hn::ZeroExtendVector(d, LoadFirst(half, from, count));
    const auto upper = LoadFirst(half, from + kHalf, count - kHalf);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // or the lower half takes a register meanwhile
    if constexpr (kHalf == 1) return hn::Combine(d, upper, LoadOne(half, from));
    return hn::Combine(d, upper, hn::LoadU(half, from));
  }
#else
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#endif
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreFirst(hn::Vec<D> v, D d, T* to, size_t count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  constexpr size_t kHalf = hn::MaxLanes(D()) / 2;
  if constexpr (kHalf == 0) {
    if (count > 0) StoreOne(v, d, to);
  } else {
    const hn::Half<D> half;
    if (count < kHalf) return StoreFirst(hn::LowerHalf(half, v), half, to, count);
    if constexpr (kHalf == 1) StoreOne(hn::LowerHalf(half, v), half, to);
    if constexpr (kHalf > 1) hn::StoreU(hn::LowerHalf(half, v), half, to);
    StoreFirst(hn::UpperHalf(half, v), half, to + kHalf, count - kHalf);
  }
#else
  hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#endif
}

template <DType kType, class D>
HWY_INLINE hn::Vec<D> LoadVecN(D d, const void* address, size_t count) {
  const ElementTag<kType, D> elements;
  return FromElements<kType>(d, LoadFirst(elements, static_cast<const Element<kType>*>(address), count));
}

template <DType kType, bool kSaturate, class D>
HWY_INLINE void StoreVecN(D d, hn::Vec<D> v, void* address, size_t count) {
  StoreFirst(ToElements<kType, kSaturate>(d, v), ElementTag<kType, D>(), static_cast<Element<kType>*>(address), count);
}

template <Form kForm>
using FormElement = Element<TypeOf(kForm)>;

template <Form kForm, class D>
HWY_INLINE hn::Vec<D> LoadForm(D d, const FormElement<kForm>* address) {
  return RoundVec<RoundingOf(kForm), false>(d, LoadVec<TypeOf(kForm)>(d, address));
}

template <Form kForm, class D>
HWY_INLINE hn::Vec<D> LoadFormN(D d, const FormElement<kForm>* address, size_t count) {
  return RoundVec<RoundingOf(kForm), false>(d, LoadVecN<TypeOf(kForm)>(d, address, count));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace canopy::kernels::convert
HWY_AFTER_NAMESPACE();

#endif  // CANOPY_KERNELS_CONVERT_CONVERT_INL_H_
