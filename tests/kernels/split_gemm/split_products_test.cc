// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/matrix_unit.h"
#include "kernels/split_gemm/contract.h"
#include "numerics/rounding.h"

namespace canopy::kernels {
namespace {

using convert::Form;

constexpr float kUntouched = -7;

// Packed numbers, aligned as kernels want them.
class Packed {
 public:
  explicit Packed(int64_t floats) : floats_(static_cast<size_t>(floats) + 16, kUntouched) {}
  float* at() { return floats_.data() + (64 - reinterpret_cast<uintptr_t>(floats_.data()) % 64) % 64 / sizeof(float); }

 private:
  std::vector<float> floats_;
};

// FP32 numbers, or such as two parts are: HF32.
std::vector<float> Numbers(size_t count, int parts, bool integers, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  std::uniform_int_distribution<int> whole(-2000, 2000);
  std::vector<float> numbers(count);
  for (float& x : numbers) {
    x = integers ? static_cast<float>(whole(random)) : real(random);
    if (parts == 2) x = numerics::RoundToHfloat32x11(x);
  }
  return numbers;
}

uint32_t BitsOf(const std::vector<float>& numbers) {
  uint32_t bits = 0;
  for (const float x : numbers) bits |= numerics::ToBits(x);
  return bits;
}

// a[row][term] or a[term][row], `apart` elements from row to row, and likewise b: packed in each way and multiplied.
struct Shape {
  int64_t row_panels, lane_panels, terms;
  int64_t missing;  // rows and lanes of the last panels
  bool along;       // lines follow the terms
  int64_t apart;
};

void CheckProduct(int parts, const Shape& shape, bool accumulate, bool integers) {
  const SplitKernels& kernels = *SplitGemm(parts);
  const int64_t rows = shape.row_panels * kSplitSide - shape.missing,
                lanes = shape.lane_panels * kSplitSide - shape.missing;
  const int64_t blocks = (shape.terms + kSplitTerms - 1) / kSplitTerms, panel = SplitBlockFloats(parts);
  const auto pack = [&](const std::vector<float>& numbers, int64_t sides, int64_t panels, SplitPackFn along,
                        SplitPackFn across, float* to) {
    uint32_t bits = 0;
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t first = p * kSplitSide, count = std::min<int64_t>(kSplitSide, sides - first);
      const float* from = numbers.data() + (shape.along ? first * shape.terms : first) * shape.apart;
      const int64_t step = (shape.along ? shape.terms : sides) * shape.apart;
      bits |= shape.along ? along({from, step, count, shape.terms, panels * panel, shape.apart}, to + p * panel)
                          : across({from, step, shape.terms, count, panels * panel, shape.apart}, to + p * panel);
    }
    return bits;
  };
  const auto draw = [&](int64_t sides, uint32_t seed) {
    std::vector<float> numbers = Numbers(static_cast<size_t>(sides * shape.terms * shape.apart), parts, integers, seed);
    for (size_t i = 0; i < numbers.size(); ++i) {  // what lies between is not read
      if (i % static_cast<size_t>(shape.apart) != 0) numbers[i] = std::numeric_limits<float>::quiet_NaN();
    }
    return numbers;
  };
  const std::vector<float> a = draw(rows, 1), b = draw(lanes, 2);
  Packed packed_a(blocks * shape.row_panels * panel), packed_b(blocks * shape.lane_panels * panel);
  const uint32_t bits = pack(a, rows, shape.row_panels, kernels.rows_along, kernels.rows_across, packed_a.at());
  pack(b, lanes, shape.lane_panels, kernels.lanes_along, kernels.lanes_across, packed_b.at());
  if (shape.apart == 1) {
    EXPECT_EQ(bits, BitsOf(a));
  }

  const int64_t c_step = shape.lane_panels * kSplitSide + 3;
  std::vector<float> c(static_cast<size_t>(shape.row_panels * kSplitSide * c_step), kUntouched);
  SplitOperands operands{};
  for (int64_t block = 0; block < blocks; ++block) {
    operands.a[block] = packed_a.at() + block * shape.row_panels * panel;
    operands.b[block] = packed_b.at() + block * shape.lane_panels * panel;
  }
  operands.row_panels = shape.row_panels;
  operands.lane_panels = shape.lane_panels;
  operands.blocks = blocks;
  operands.c = c.data();
  operands.c_step = c_step;
  const std::vector<const void*> asks(
      static_cast<size_t>(SplitAsks(shape.row_panels, shape.lane_panels, blocks, parts)), a.data());
  if (accumulate) operands.asks = asks.data();
  kernels.multiply(operands, accumulate);
  const auto number = [&](const std::vector<float>& numbers, int64_t sides, int64_t side, int64_t term) {
    return numbers[static_cast<size_t>((shape.along ? side * shape.terms + term : term * sides + side) * shape.apart)];
  };
  for (int64_t r = 0; r < shape.row_panels * kSplitSide; ++r) {
    for (int64_t l = 0; l < c_step; ++l) {
      const float actual = c[static_cast<size_t>(r * c_step + l)];
      if (l >= shape.lane_panels * kSplitSide) {
        ASSERT_EQ(actual, kUntouched);
        continue;
      }
      double sum = accumulate ? kUntouched : 0, magnitude = std::abs(sum);
      for (int64_t k = 0; k < shape.terms && r < rows && l < lanes; ++k) {
        const double product = double{number(a, rows, r, k)} * number(b, lanes, l, k);
        sum += product;
        magnitude += std::abs(product);
      }
      // What three parts leave out, and the roundings of sums of 32 terms.
      ASSERT_NEAR(actual, sum, 4e-7 * magnitude)
          << parts << " parts, row " << r << ", lane " << l << ", " << rows << "x" << lanes << "x" << shape.terms;
      if (integers && magnitude < (1 << 24)) {
        ASSERT_EQ(actual, sum);
      }
    }
  }
}

TEST(SplitProductsTest, AreTheSums) {
  if (SplitGemm(3) == nullptr) GTEST_SKIP() << "the processor has no matrix unit";
  for (int parts = 2; parts <= 3; ++parts) {
    for (int64_t row_panels = 1; row_panels <= 4; ++row_panels) {
      for (int64_t lane_panels = 1; lane_panels <= 5; ++lane_panels) {
        for (const int64_t terms : {1, 16, 17, 32, 33, 52, 64, 80, 96, 100, 127, 128}) {
          const bool odd = (row_panels + lane_panels + terms) % 2 != 0;
          CheckProduct(parts, {row_panels, lane_panels, terms, terms % 5, odd, 1}, terms % 3 == 0, false);
          CheckProduct(parts, {row_panels, lane_panels, terms, terms % 7, !odd, odd ? 3 : 1}, terms % 3 == 1, true);
          if (HasFailure()) return;
        }
      }
    }
  }
  base::ReleaseMatrixTiles();
}

// Multiplied by 1, a number is what its parts add up to: itself.
TEST(SplitProductsTest, PartsAreTheNumber) {
  if (SplitGemm(3) == nullptr) GTEST_SKIP() << "the processor has no matrix unit";
  const SplitKernels& kernels = *SplitGemm(3);
  std::mt19937 random(3);
  std::vector<float> a(static_cast<size_t>(kSplitSide * kSplitTerms)), one(a.size(), 0);
  const int64_t panel = SplitBlockFloats(3);
  Packed packed_a(panel), packed_one(panel);
  for (int round = 0; round < 200; ++round) {
    for (float& x : a) {
      const int exponent = static_cast<int>(random() % 227) - 102;  // up to 2^124
      const float mantissa = 1 + static_cast<float>(random() % (1 << 23)) * 0x1p-23f;
      x = std::ldexp(random() % 2 == 0 ? mantissa : -mantissa, exponent);
    }
    a[0] = 0;
    for (int64_t half = 0; half < 2; ++half) {  // columns of the unit matrix
      std::fill(one.begin(), one.end(), 0.0f);
      for (int64_t l = 0; l < kSplitSide; ++l) one[static_cast<size_t>(l * kSplitTerms + half * kSplitSide + l)] = 1;
      kernels.rows_along({a.data(), kSplitTerms, kSplitSide, kSplitTerms, 0}, packed_a.at());
      kernels.lanes_along({one.data(), kSplitTerms, kSplitSide, kSplitTerms, 0}, packed_one.at());
      float c[kSplitSide * kSplitSide];
      SplitOperands operands{};
      operands.a[0] = packed_a.at();
      operands.b[0] = packed_one.at();
      operands.row_panels = operands.lane_panels = operands.blocks = 1;
      operands.c = c;
      operands.c_step = kSplitSide;
      kernels.multiply(operands, false);
      for (int64_t r = 0; r < kSplitSide; ++r) {
        for (int64_t l = 0; l < kSplitSide; ++l) {
          ASSERT_EQ(c[r * kSplitSide + l], a[static_cast<size_t>(r * kSplitTerms + half * kSplitSide + l)]);
        }
      }
    }
  }
  base::ReleaseMatrixTiles();
}

// Rows that stand anywhere are packed like rows side by side.
TEST(SplitProductsTest, RowsMayStandAnywhere) {
  if (SplitGemm(3) == nullptr) GTEST_SKIP() << "the processor has no matrix unit";
  std::mt19937 random(8);
  std::uniform_real_distribution<float> real(-1, 1);
  for (int parts = 2; parts <= 3; ++parts) {
    const SplitKernels& kernels = *SplitGemm(parts);
    const int64_t panel = SplitBlockFloats(parts);
    for (int round = 0; round < 60; ++round) {
      const int64_t count = 1 + random() % kSplitSide, length = 1 + random() % (3 * kSplitTerms);
      const int64_t blocks = (length + kSplitTerms - 1) / kSplitTerms, step = panel * (1 + random() % 2);
      std::vector<float> lines(static_cast<size_t>(kSplitSide * length)), beside;
      std::vector<int64_t> offsets;
      for (float& x : lines) x = real(random);
      for (int64_t r = 0; r < count; ++r) {
        offsets.push_back(static_cast<int64_t>(random() % kSplitSide) * length);
        beside.insert(beside.end(), lines.begin() + offsets.back(), lines.begin() + offsets.back() + length);
      }
      Packed packed(blocks * step), expected(blocks * step);
      const uint32_t bits = kernels.rows_at({lines.data(), offsets.data(), count, length, step}, packed.at());
      EXPECT_EQ(bits, kernels.rows_along({beside.data(), length, count, length, step}, expected.at()));
      for (int64_t block = 0; block < blocks; ++block) {
        const float *at = packed.at() + block * step, *as = expected.at() + block * step;
        EXPECT_EQ(std::memcmp(at, as, static_cast<size_t>(panel) * sizeof(float)), 0)
            << count << " rows of " << length << ", block " << block;
      }
    }
  }
}

// What is not finite, or BF16 has no room for, leaves a NaN in the sum.
TEST(SplitProductsTest, WhatPartsCannotExpressIsSeen) {
  if (SplitGemm(3) == nullptr) GTEST_SKIP() << "the processor has no matrix unit";
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const uint32_t nans[] = {0x7f800001, 0x7fffffff, 0xffffffff, 0xff800001};
  std::vector<float> bad = {kInf, -kInf, std::numeric_limits<float>::max()};
  for (const uint32_t bits : nans) bad.push_back(numerics::FromBits(bits));
  for (int parts = 2; parts <= 3; ++parts) {
    const SplitKernels& kernels = *SplitGemm(parts);
    for (const bool rounds : {false, true}) {
      for (const float x : bad) {
        std::vector<float> a(kSplitTerms, 1), ones(kSplitTerms, 1);
        a[5] = x;
        Packed packed_a(SplitBlockFloats(parts)), packed_b(SplitBlockFloats(parts));
        kernels.rows_along({a.data(), kSplitTerms, 1, kSplitTerms, 0, 1, rounds}, packed_a.at());
        kernels.lanes_along({ones.data(), kSplitTerms, 1, kSplitTerms, 0}, packed_b.at());
        float c[kSplitSide * kSplitSide];
        SplitOperands operands{};
        operands.a[0] = packed_a.at();
        operands.b[0] = packed_b.at();
        operands.row_panels = operands.lane_panels = operands.blocks = 1;
        operands.c = c;
        operands.c_step = kSplitSide;
        kernels.multiply(operands, false);
        EXPECT_FALSE(std::isfinite(c[0])) << x << " in " << parts << " parts";
      }
    }
  }
  base::ReleaseMatrixTiles();
}

// Elements in memory, and the numbers that kernels make of them.
struct Elements {
  std::vector<char> bytes;
  std::vector<float> numbers;

  Elements(Form form, size_t count) : bytes(count * (form == Form::kFloat16 ? 2 : 4)), numbers(count) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> real(-3, 3);
    const numerics::DType type = convert::TypeOf(form);
    for (size_t i = 0; i < count; ++i) {
      char* to = bytes.data() + i * (form == Form::kFloat16 ? 2 : 4);
      numerics::StoreElement(to, type, real(random), false);
      numbers[i] = numerics::LoadElement(to, type);
      if (form == Form::kHfloat32x11) numbers[i] = numerics::RoundToHfloat32x11(numbers[i]);
    }
  }
};

// Pieces are packed like the line that they are copied to.
TEST(SplitProductsTest, PiecesAreTheirLine) {
  if (SplitGemm(3) == nullptr) GTEST_SKIP() << "the processor has no matrix unit";
  std::mt19937 random(5);
  for (int round = 0; round < 600; ++round) {
    const int parts = 2 + round % 2;
    const Form form = std::vector<Form>{Form::kFloat32, Form::kHfloat32x11, Form::kFloat16}[random() % 3];
    const int64_t apart = 1 + random() % 2, groups = 1 + random() % 5, step = 2 * 16 * groups + random() % 9;
    const bool across = random() % 2 == 0;
    const int64_t count = 1 + random() % (across ? 32 : 16);
    // Each group in up to three pieces, with numbers missing between them; the last reaches the end of what there is.
    std::vector<SplitPiece> pieces;
    std::vector<int32_t> first;
    const Elements elements(form, static_cast<size_t>((count - 1) * step + (16 * groups - 1) * apart + 1));
    std::vector<float> lines(static_cast<size_t>(count * 16 * groups), 0);
    for (int64_t g = 0; g < groups; ++g) {
      first.push_back(static_cast<int32_t>(pieces.size()));
      const int64_t cuts = random() % 4;
      for (int64_t piece = 0, at = 0; piece < cuts && at < 16; ++piece) {
        const int64_t low = at + random() % (16 - at), high = low + 1 + random() % (16 - low);
        pieces.push_back({(16 * g) * apart, (1u << high) - (1u << low)});
        for (int64_t line = 0; line < count; ++line) {
          for (int64_t i = low; i < high; ++i) {
            lines[static_cast<size_t>(line * 16 * groups + 16 * g + i)] =
                elements.numbers[static_cast<size_t>(line * step + (16 * g + i) * apart)];
          }
        }
        at = high;
      }
    }
    first.push_back(static_cast<int32_t>(pieces.size()));
    const SplitKernels& kernels = *SplitGemm(parts);
    const int64_t block = SplitBlockFloats(parts), blocks = across ? groups : (groups + 1) / 2;
    // At an address of its own, of which nothing behind may be read.
    const std::vector<char> exact = elements.bytes;
    const SplitPieces in{form, exact.data(), step, count, apart, groups, pieces.data(), first.data(), block};
    for (const bool rows : {false, true}) {
      if (across && rows) continue;
      Packed actual(blocks * block), expected(blocks * block);
      const uint32_t bits = (across ? kernels.pieces_of_lanes_across
                             : rows ? kernels.pieces_of_rows_along
                                    : kernels.pieces_of_lanes_along)(in, actual.at());
      EXPECT_EQ(bits, BitsOf(lines));
      for (int64_t g = 0; across && g < groups; ++g) {
        kernels.lanes_across({lines.data() + 16 * g, 16 * groups, count, 16, 0}, expected.at() + g * block);
      }
      if (!across) {
        (rows ? kernels.rows_along : kernels.lanes_along)({lines.data(), 16 * groups, count, 16 * groups, block},
                                                          expected.at());
      }
      ASSERT_EQ(std::memcmp(actual.at(), expected.at(), static_cast<size_t>(blocks * block) * sizeof(float)), 0)
          << "round " << round;
    }
  }
}

}  // namespace
}  // namespace canopy::kernels
