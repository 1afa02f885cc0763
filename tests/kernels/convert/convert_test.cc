// SPDX-License-Identifier: Apache-2.0
// The rows of kernels/convert against the scalar routines, bit for bit, on every instruction set of this machine, with
// the floating-point unit in its default state and with both flushing modes on.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/convert/contract.h"
#include "kernels/dispatch.h"
#include "numerics/rounding.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace canopy::kernels::convert {
namespace {

using numerics::DType;
using numerics::ElementBytes;
using numerics::InputRounding;
using numerics::NumericRule;

constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kHiFloat8, DType::kFloat8E4M3};
constexpr InputRounding kRoundings[] = {InputRounding::kNone, InputRounding::kFloat16, InputRounding::kBFloat16,
                                        InputRounding::kHfloat32x11, InputRounding::kHfloat32x10};

// The caller's control register, with flush-to-zero and denormals-are-zero on or off while it lives.
class ScopedFlushing {
 public:
#if defined(__x86_64__)
  explicit ScopedFlushing(bool on) : saved_(_mm_getcsr()) { _mm_setcsr(on ? saved_ | 0x8040 : saved_ & ~0x8040u); }
  ~ScopedFlushing() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#elif defined(__aarch64__)
  explicit ScopedFlushing(bool on) {
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
    const uint64_t wanted = on ? saved_ | (1u << 24) : saved_ & ~(uint64_t{1} << 24);
    __asm__ volatile("msr fpcr, %0" : : "r"(wanted));
  }
  ~ScopedFlushing() { __asm__ volatile("msr fpcr, %0" : : "r"(saved_)); }

 private:
  uint64_t saved_;
#endif
};

// Patterns of FP32 where some format may round one way or the other: every multiple of 2^11, which are all codes and
// all midpoints between codes of all formats, with both neighbours, both signs.
std::vector<float> InterestingFloats() {
  std::vector<float> values;
  values.reserve(3u << 21);
  for (uint64_t pattern = 0; pattern < (uint64_t{1} << 32); pattern += 1 << 11) {
    for (int step = -1; step <= 1; ++step) {
      values.push_back(numerics::FromBits(static_cast<uint32_t>(pattern + static_cast<uint64_t>(step))));
    }
  }
  return values;
}

// Every code of an 8-bit or 16-bit type; for FP32 the interesting ones.
std::vector<uint8_t> Elements(DType dtype) {
  std::vector<uint8_t> bytes;
  if (dtype == DType::kFloat32) {
    static const std::vector<float> values = InterestingFloats();
    bytes.resize(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  const int64_t size = ElementBytes(dtype);
  const uint32_t codes = 1u << (8 * size);
  bytes.resize(codes * size);
  for (uint32_t code = 0; code < codes; ++code) std::memcpy(&bytes[code * size], &code, size);
  return bytes;
}

std::string Describe(int64_t target, bool flushing, DType dtype, const NumericRule& rule) {
  return std::string(TargetName(target)) + (flushing ? " flushing" : "") + " dtype " +
         std::to_string(static_cast<int>(dtype)) + " rounding " +
         std::to_string(static_cast<int>(rule.input_rounding)) + (rule.saturate ? " saturating" : "");
}

// Calls body(target, flushing) on every instruction set in both modes.
template <class Body>
void ForEveryTarget(Body body) {
  for (const int64_t target : MachineTargets()) {
    const ScopedTarget scope(target);
    for (const bool flushing : {false, true}) body(target, flushing);
  }
}

TEST(ConvertKernels, TheBestTargetIsTheOneSelectedByDefault) {
  const std::vector<int64_t> targets = MachineTargets();
  ASSERT_FALSE(targets.empty());
  const LoadRowFn by_default = SelectLoadRow(DType::kFloat16, {});
  std::vector<LoadRowFn> all;
  for (const int64_t target : targets) {
    const ScopedTarget scope(target);
    all.push_back(SelectLoadRow(DType::kFloat16, {}));
  }
  EXPECT_EQ(by_default, all.front());
  for (size_t i = 1; i < all.size(); ++i) EXPECT_NE(all[i - 1], all[i]) << TargetName(targets[i]);
  EXPECT_EQ(by_default, SelectLoadRow(DType::kFloat16, {}));
}

void CheckLoadRows(DType dtype, const NumericRule& rule) {
  const std::vector<uint8_t> elements = Elements(dtype);
  const int64_t size = ElementBytes(dtype);
  const int64_t count = static_cast<int64_t>(elements.size()) / size;
  std::vector<float> want(count), got(count);
  // A NaN that becomes HFLOAT32 stays as it is: what multiplies it makes it quiet.
  const bool to_hfloat32 =
      rule.input_rounding == InputRounding::kHfloat32x11 || rule.input_rounding == InputRounding::kHfloat32x10;
  for (int64_t i = 0; i < count; ++i) {
    const float element = numerics::LoadElement(&elements[i * size], dtype);
    const bool stays = to_hfloat32 && !rule.saturate && std::isnan(element);
    want[i] = stays ? element : numerics::RoundInput(element, rule.input_rounding, rule.saturate);
  }
  ForEveryTarget([&](int64_t target, bool flushing) {
    const LoadRowFn load = SelectLoadRow(dtype, rule);
    ASSERT_NE(load, nullptr);
    {
      const ScopedFlushing mode(flushing);
      load(elements.data(), count, got.data());
    }
    if (std::memcmp(want.data(), got.data(), count * sizeof(float)) == 0) return;
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(numerics::ToBits(got[i]), numerics::ToBits(want[i]))
          << Describe(target, flushing, dtype, rule) << " pattern " << std::hex
          << numerics::ToBits(numerics::LoadElement(&elements[i * size], dtype));
    }
  });
}

TEST(ConvertKernels, LoadRowsEqualTheScalarRoutinesOnEveryTarget) {
  for (const DType dtype : kTypes) {
    for (const InputRounding rounding : kRoundings) {
      for (const bool saturate : {false, true}) CheckLoadRows(dtype, {rounding, saturate});
    }
  }
}

void CheckStoreRows(const std::vector<float>& values, DType dtype, bool saturate) {
  const int64_t size = ElementBytes(dtype);
  const int64_t count = static_cast<int64_t>(values.size());
  std::vector<uint8_t> want(count * size), got(count * size);
  for (int64_t i = 0; i < count; ++i) numerics::StoreElement(&want[i * size], dtype, values[i], saturate);
  ForEveryTarget([&](int64_t target, bool flushing) {
    const StoreRowFn store = SelectStoreRow(dtype, saturate);
    ASSERT_NE(store, nullptr);
    {
      const ScopedFlushing mode(flushing);
      store(values.data(), count, got.data());
    }
    if (want == got) return;
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(std::memcmp(&want[i * size], &got[i * size], size), 0)
          << Describe(target, flushing, dtype, {InputRounding::kNone, saturate}) << " pattern " << std::hex
          << numerics::ToBits(values[i]);
    }
  });
}

TEST(ConvertKernels, StoreRowsEqualTheScalarRoutinesOnEveryTarget) {
  const std::vector<float> values = InterestingFloats();
  for (const DType dtype : kTypes) {
    for (const bool saturate : {false, true}) CheckStoreRows(values, dtype, saturate);
  }
}

// Lengths around every vector width, at every misalignment that an element size allows.
void CheckRow(DType dtype, int64_t count, int64_t offset) {
  constexpr uint8_t kCanary = 0xA5;
  const int64_t size = ElementBytes(dtype);
  // Exactly as long as needed, so that an address checker sees a read behind the row.
  std::vector<uint8_t> source(offset + count * size);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i * 37 + 11);
  std::vector<float> floats(count + 2, numerics::FromBits(0xA5A5A5A5u));
  SelectLoadRow(dtype, {})(source.data() + offset, count, floats.data() + 1);
  EXPECT_EQ(numerics::ToBits(floats.front()), 0xA5A5A5A5u);
  EXPECT_EQ(numerics::ToBits(floats.back()), 0xA5A5A5A5u);

  std::vector<uint8_t> stored(offset + count * size + 1, kCanary);
  SelectStoreRow(dtype, false)(floats.data() + 1, count, stored.data() + offset);
  EXPECT_EQ(stored.back(), kCanary);
  for (int64_t i = 0; i < offset; ++i) EXPECT_EQ(stored[i], kCanary);
  for (int64_t i = 0; i < count; ++i) {
    uint8_t want[4];
    const float value = numerics::LoadElement(&source[offset + i * size], dtype);
    EXPECT_EQ(numerics::ToBits(floats[i + 1]), numerics::ToBits(value));
    numerics::StoreElement(want, dtype, value, false);
    EXPECT_EQ(std::memcmp(want, &stored[offset + i * size], size), 0) << "element " << i;
  }
}

TEST(ConvertKernels, RowsOfAnyLengthAndAlignmentTouchOnlyTheirElements) {
  constexpr int64_t kMaxCount = 67;
  for (const int64_t target : MachineTargets()) {
    const ScopedTarget scope(target);
    for (const DType dtype : kTypes) {
      for (int64_t count = 0; count <= kMaxCount; ++count) {
        CheckRow(dtype, count, count % 5);
        ASSERT_FALSE(::testing::Test::HasFailure()) << Describe(target, false, dtype, {}) << " count " << count;
      }
    }
  }
}

TEST(ConvertKernels, AnFp32RowMayBeRoundedInPlace) {
  for (const int64_t target : MachineTargets()) {
    const ScopedTarget scope(target);
    std::vector<float> row(37);
    for (size_t i = 0; i < row.size(); ++i) row[i] = 1.0f + static_cast<float>(i) / 3;
    const std::vector<float> before = row;
    SelectLoadRow(DType::kFloat32, {InputRounding::kHfloat32x11, false})(row.data(), 37, row.data());
    for (size_t i = 0; i < row.size(); ++i) EXPECT_EQ(row[i], numerics::RoundToHfloat32x11(before[i]));
  }
}

}  // namespace
}  // namespace canopy::kernels::convert
