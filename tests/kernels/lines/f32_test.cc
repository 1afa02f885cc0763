// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/lines/contract.h"
#include "kernels/streams.h"
#include "tests/kernels/elements.h"

namespace canopy::kernels {
namespace {

class LinesTest : public testing::TestWithParam<int64_t> {};

TEST_P(LinesTest, FetchCopiesSegmentsAndZerosTheRest) {
  const ScopedTarget scoped(GetParam());
  std::vector<float> source(200);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i + 1);
  const std::vector<std::vector<Segment>> lists = {
      {},
      {{0, 0, 1}},
      {{5, 0, 40}},
      {{5, 3, 15}, {100, 18, 1}, {50, 30, 17}},
      {{0, 1, 7}, {20, 9, 7}, {40, 17, 7}, {60, 25, 7}, {183, 33, 17}},  // the last ends with the source
  };
  for (const auto& list : lists) {
    for (int64_t length : {50, 64}) {
      std::vector<float> line(static_cast<size_t>(length + kLineSlack), -1.0f),
          expected(static_cast<size_t>(length), 0.0f);
      for (const Segment& s : list) {
        for (int i = 0; i < s.count; ++i) expected[s.begin + i] = source[s.source + i];
      }
      Lines().fetch(source.data(), list.data(), static_cast<int64_t>(list.size()), length, line.data());
      line.resize(static_cast<size_t>(length));
      EXPECT_EQ(line, expected);
    }
  }
}

TEST_P(LinesTest, TransposeWritesItsColumnsAndNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (const convert::Form form : kReadForms) {
    for (int64_t rows : {1, 3, 8, 15, 16, 17, 48}) {
      for (int64_t columns : {1, 2, 3, 4, 9, 16, 27, 33}) {
        for (int64_t gap : {0, 5}) {
          const int64_t step = columns + gap, width = rows + 3;
          const Elements from(form, Numbers((rows - 1) * step + columns));  // ends with the last element
          std::vector<int64_t> offsets;
          for (int64_t j = 0; j < columns; ++j) offsets.push_back((columns - 1 - j) * width);
          std::vector<float> to(static_cast<size_t>(columns * width), -1.0f), expected = to;
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < columns; ++j) expected[offsets[j] + i] = from.Read(i * step + j);
          }
          Lines().transpose_form[static_cast<int>(form)](from.data(), step, rows, columns, to.data(), offsets.data());
          EXPECT_EQ(to, expected) << rows << " by " << columns;
        }
      }
    }
  }
}

TEST_P(LinesTest, TransposeOfFewRowsMayPackItsColumns) {
  const ScopedTarget scoped(GetParam());
  for (const convert::Form form : kReadForms) {
    for (int64_t rows : {1, 2, 3, 4, 5}) {
      for (int64_t columns : {1, 3, 15, 16, 17, 33, 100}) {
        for (bool swapped : {false, true}) {  // two of them, between the first and the last
          const int64_t step = columns + 1;
          const Elements from(form, Numbers((rows - 1) * step + columns));  // ends with the last element
          std::vector<int64_t> offsets;
          for (int64_t j = 0; j < columns; ++j) offsets.push_back(j * rows);
          if (swapped && columns > 3) std::swap(offsets[columns - 2], offsets[columns - 3]);
          std::vector<float> to(static_cast<size_t>(columns * rows + 20), -1.0f), expected = to;
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < columns; ++j) expected[offsets[j] + i] = from.Read(i * step + j);
          }
          Lines().transpose_form[static_cast<int>(form)](from.data(), step, rows, columns, to.data(), offsets.data());
          EXPECT_EQ(to, expected) << rows << " by " << columns;
        }
      }
    }
  }
}

TEST_P(LinesTest, InterleaveWritesItsRowsAndNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (int64_t rows : {1, 2, 3, 5, 16, 17}) {
    for (int64_t columns : {0, 1, 7, 16, 33, 64, 130}) {
      const int64_t step = columns + 3;
      std::vector<float> from(static_cast<size_t>((rows - 1) * step + columns));  // ends with the last element
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
      std::vector<float> to(static_cast<size_t>(columns * rows + 20), -1.0f), expected = to;
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) expected[j * rows + i] = from[i * step + j];
      }
      Lines().interleave(from.data(), step, rows, columns, to.data());
      EXPECT_EQ(to, expected) << rows << " by " << columns;
    }
  }
}

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

TEST_P(LinesTest, ZipRowsPairsTwoLinesAndWritesNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (int64_t count : {0, 1, 3, 15, 16, 17, 33, 64, 77}) {
    for (int64_t rows : {1, 3}) {
      // They end with the last element.
      const int64_t from_step = count + 3, to_step = count + 1;
      std::vector<uint16_t> even(static_cast<size_t>((rows - 1) * from_step + count)), odd = even;
      for (size_t i = 0; i < even.size(); ++i) {
        even[i] = static_cast<uint16_t>(0xFF80 + i);
        odd[i] = static_cast<uint16_t>(0x8001 + 3 * i);
      }
      for (bool alone : {false, true}) {
        std::vector<float> to(static_cast<size_t>(rows * to_step + 20), -1.0f), expected = to;
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t i = 0; i < count; ++i) {
            const int64_t at = r * from_step + i;
            expected[r * to_step + i] = FloatOf(even[at] | (alone ? 0u : static_cast<uint32_t>(odd[at])) << 16);
          }
        }
        Lines().zip_rows(even.data(), alone ? nullptr : odd.data(), from_step, rows, count, to.data(), to_step);
        for (size_t i = 0; i < to.size(); ++i) EXPECT_EQ(BitsOf(to[i]), BitsOf(expected[i])) << i << " of " << count;
      }
    }
  }
}

TEST_P(LinesTest, ZipSecondsStopsAtItsLast) {
  const ScopedTarget scoped(GetParam());
  for (int64_t count : {0, 1, 2, 8, 9, 15, 16, 17, 33, 100}) {
    // They end with the last element, at whatever address.
    std::vector<uint16_t> even(static_cast<size_t>(std::max<int64_t>(0, 2 * count - 1))), odd = even;
    for (size_t i = 0; i < even.size(); ++i) {
      even[i] = static_cast<uint16_t>(40000 + i);
      odd[i] = static_cast<uint16_t>(i + 1);
    }
    for (bool alone : {false, true}) {
      std::vector<float> to(static_cast<size_t>(count + 20), -1.0f);
      Lines().zip_seconds(even.data(), alone ? nullptr : odd.data(), count, to.data());
      for (int64_t i = 0; i < count; ++i) {
        EXPECT_EQ(BitsOf(to[i]), even[2 * i] | (alone ? 0u : odd[2 * i]) << 16) << i << " of " << count;
      }
      for (size_t i = static_cast<size_t>(count); i < to.size(); ++i) EXPECT_EQ(to[i], -1.0f) << i;
    }
  }
}

TEST_P(LinesTest, ZipUpperPairsTheUpperHalvesOfTwoLinesInPlaceToo) {
  const ScopedTarget scoped(GetParam());
  std::vector<float> even(48), odd(48);
  for (int i = 0; i < 48; ++i) {
    even[i] = static_cast<float>(i + 1);
    odd[i] = -static_cast<float>(2 * i + 1);
  }
  for (bool alone : {false, true}) {
    std::vector<float> to = even;
    to.push_back(-1);
    Lines().zip_upper(to.data(), alone ? nullptr : odd.data(), 48, to.data());
    for (int i = 0; i < 48; ++i) {
      EXPECT_EQ(BitsOf(to[i]), BitsOf(even[i]) >> 16 | (alone ? 0 : BitsOf(odd[i]) & 0xFFFF0000u)) << i;
    }
    EXPECT_EQ(to[48], -1);
  }
}

template <class T>
void ExpectEverySecond(void (*every_second)(const T*, int64_t, int64_t, int64_t, T*)) {
  for (int64_t rows : {1, 3}) {
    for (int64_t count : {0, 1, 2, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65, 100}) {
      const int64_t step = 2 * count + 3;
      // Ends with the last element.
      std::vector<T> from(static_cast<size_t>(std::max<int64_t>(0, (rows - 1) * step + 2 * count - 1)));
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i);
      std::vector<T> to(static_cast<size_t>(rows * count + 40), static_cast<T>(7777)), expected = to;
      for (int64_t i = 0; i < rows * count; ++i) expected[i] = static_cast<T>(i / count * step + i % count * 2);
      every_second(from.data(), step, rows, count, to.data());
      EXPECT_EQ(to, expected) << rows << " " << count;
    }
  }
}

TEST_P(LinesTest, EverySecondStopsAtItsLast) {
  const ScopedTarget scoped(GetParam());
  ExpectEverySecond(Lines().every_second);
  ExpectEverySecond(Lines().every_second16);
}

TEST_P(LinesTest, SplitSecondsStopsAtItsLast) {
  const ScopedTarget scoped(GetParam());
  for (int64_t rows : {1, 3}) {
    for (int64_t count : {0, 1, 2, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65, 100}) {
      const int64_t step = 2 * count + 3;
      // Ends with the last element.
      std::vector<float> from(static_cast<size_t>(std::max<int64_t>(0, (rows - 1) * step + 2 * count)));
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
      std::vector<float> even(static_cast<size_t>(rows * count + 40), 7777), odd = even, expected[] = {even, odd};
      for (int64_t i = 0; i < rows * count; ++i) {
        for (int64_t k = 0; k < 2; ++k) expected[k][i] = static_cast<float>(i / count * step + i % count * 2 + k);
      }
      Lines().split_seconds(from.data(), step, rows, count, even.data(), odd.data());
      EXPECT_EQ(even, expected[0]) << rows << " " << count;
      EXPECT_EQ(odd, expected[1]) << rows << " " << count;
    }
  }
}

TEST_P(LinesTest, CopyRowsCopiesItsRowsAndNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (const convert::Form form : kReadForms) {
    for (int64_t count : {1, 3, 4, 7, 8, 14, 16, 17, 32, 45}) {
      const int64_t rows = 5, from_step = count + 2, to_step = count + 3;
      const Elements from(form, Numbers((rows - 1) * from_step + count));  // ends with the last element
      std::vector<float> to(static_cast<size_t>(rows * to_step), -1.0f), expected = to;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < count; ++i) expected[r * to_step + i] = from.Read(r * from_step + i);
      }
      Lines().copy_rows_form[static_cast<int>(form)](from.data(), from_step, rows, count, to.data(), to_step);
      EXPECT_EQ(to, expected) << count;
    }
  }
}

TEST_P(LinesTest, CopyRows16CopiesItsRowsAndNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (int64_t count : {0, 1, 7, 8, 15, 31, 32, 33, 64, 77}) {
    const int64_t rows = 4, from_step = count + 2, to_step = count + 3;
    std::vector<uint16_t> from(static_cast<size_t>((rows - 1) * from_step + count));  // ends with the last element
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint16_t>(40000 + i);
    std::vector<uint16_t> to(static_cast<size_t>(rows * to_step), 7777), expected = to;
    for (int64_t r = 0; r < rows; ++r) std::copy_n(from.begin() + r * from_step, count, expected.begin() + r * to_step);
    Lines().copy_rows16(from.data(), from_step, rows, count, to.data(), to_step);
    EXPECT_EQ(to, expected) << count;
  }
}

TEST_P(LinesTest, StreamRowsCopiesItsRowsAndNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (const auto& [count, apart, into_line] : {std::tuple{16, 16, 0},
                                                {32, 16, 0},
                                                {80, 16, 0},
                                                {32, 16, 1},
                                                {80, 13, 5},
                                                {37, 4, 0},
                                                {5, 3, 7},
                                                {33, 1, 15}}) {
    const int64_t rows = 3, from_step = count + 3, to_step = count + apart;
    std::vector<float> from(static_cast<size_t>((rows - 1) * from_step + count));  // ends with the last element
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i + 1);
    std::vector<float> memory(static_cast<size_t>(rows * to_step + 3 * kMemoryLineFloats), -1.0f), expected = memory;
    float* to = memory.data();
    to += FloatsBeforeALine(to, kMemoryLineFloats) + into_line;
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(&from[r * from_step], count, &expected[to - memory.data() + r * to_step]);
    }
    Lines().stream_rows(from.data(), from_step, rows, count, to, to_step);
    FinishStreams();
    EXPECT_EQ(memory, expected) << count << " by " << to_step << " from float " << into_line;
  }
}

TEST(StreamsTest, FloatsBeforeALineAreCounted) {
  alignas(kMemoryLine) const float line[2 * kMemoryLineFloats] = {};
  EXPECT_EQ(FloatsBeforeALine(line, 40), 0);
  EXPECT_EQ(FloatsBeforeALine(line + 1, 40), 15);
  EXPECT_EQ(FloatsBeforeALine(line + 1, 7), 7);
  EXPECT_EQ(FloatsBeforeALine(line + 15, 40), 1);
  // None of these floats begins a line.
  EXPECT_EQ(FloatsBeforeALine(reinterpret_cast<const float*>(reinterpret_cast<const char*>(line) + 2), 40), 40);
}

TEST_P(LinesTest, SpreadPutsZerosBetweenAndBehindAndNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (int64_t count : {1, 2, 4, 7, 8, 9, 14, 16, 28, 33}) {
    for (const auto& [together, step] : {std::pair{1, 1}, {1, 2}, {1, 3}, {2, 2}, {2, 3}, {3, 3}, {5, 5}}) {
      for (int64_t behind : {0, 1, 2, 20}) {
        for (int64_t rows : {1, 3}) {
          Spreading how{together, rows * count + 3, count, step, rows, (count - 1) * step + together + behind, 0, 0};
          how.to_step = how.length + 5;
          how.ahead = behind == 1 ? 1000 : 0;
          // Ends with the last element.
          std::vector<float> from(static_cast<size_t>((together - 1) * how.from_step + rows * count));
          for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i + 1);
          std::vector<float> to(static_cast<size_t>(rows * how.to_step + 20), -1.0f), expected = to;
          for (int64_t r = 0; r < rows; ++r) {
            float* row = &expected[r * how.to_step];
            std::fill(row, row + how.length, 0.0f);
            for (int64_t i = 0; i < count * together; ++i) {
              row[i / together * step + i % together] = from[i % together * how.from_step + r * count + i / together];
            }
          }
          Lines().spread(from.data(), how, false, to.data());
          EXPECT_EQ(to, expected) << count << " of " << together << " by " << step << ", " << behind << ", " << rows;
        }
      }
    }
  }
}

TEST_P(LinesTest, SpreadWritesTheSamePastTheCaches) {
  const ScopedTarget scoped(GetParam());
  const std::vector<float> from = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
  for (const int64_t count : {1, 7, 8, 17, 18}) {
    for (const int64_t length : {48, 112}) {
      std::vector<float> memory(200, -1.0f), expected = memory;
      float* line = memory.data();
      while (!AreLines(line, length)) ++line;
      float* same = expected.data() + (line - memory.data());
      for (int64_t i = 0; i < length; ++i) same[i] = i % 2 == 0 && i / 2 < count ? from[i / 2] : 0;
      Lines().spread(from.data(), {1, 0, count, 2, 1, length, 0, 0}, true, line);
      FinishStreams();
      EXPECT_EQ(memory, expected) << count << " " << length;
    }
  }
}

TEST_P(LinesTest, CopyRunsLaysThemSideBySide) {
  const ScopedTarget scoped(GetParam());
  std::vector<float> from(1000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  const std::vector<int64_t> offsets = {700, 0, 13};
  for (int64_t length : {1, 3, 7, 16, 17, 33}) {
    for (int64_t gap : {0, 9}) {
      const int64_t count = 6, from_step = 2, runs = 3, to_step = runs * length + gap;
      std::vector<float> to(static_cast<size_t>(count * to_step + kLineSlack), -1.0f);
      Lines().copy_runs(from.data(), offsets.data(), runs, length, count, from_step, to.data(), to_step);
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t r = 0; r < runs; ++r) {
          for (int64_t j = 0; j < length; ++j) {
            ASSERT_EQ(to[i * to_step + r * length + j], from[offsets[r] + i * from_step + j])
                << length << " " << i << " " << r << " " << j;
          }
        }
      }
    }
  }
}

TEST_P(LinesTest, InterleaveWritesFourColumnsAndNothingElse) {
  const ScopedTarget scoped(GetParam());
  for (int64_t count : {1, 3, 4, 5, 15, 16, 17, 31, 32, 33, 100}) {
    for (int64_t stride : {4, 12, 32}) {
      std::vector<std::vector<float>> rows(4, std::vector<float>(static_cast<size_t>(count + kLineSlack)));
      const float* lines[4];
      for (int r = 0; r < 4; ++r) {
        for (int64_t i = 0; i < count; ++i) rows[r][i] = static_cast<float>(r * 1000 + i);
        lines[r] = rows[r].data();
      }
      std::vector<float> to(static_cast<size_t>(count * stride), -1.0f), expected = to;
      for (int64_t i = 0; i < count; ++i) {
        for (int r = 0; r < 4; ++r) expected[i * stride + r] = lines[r][i];
      }
      Lines().interleave4(lines, count, stride, to.data());
      EXPECT_EQ(to, expected) << count << " by " << stride;
    }
  }
}

TEST_P(LinesTest, AnyNonfiniteSeesEachElementAndNoneBehind) {
  const ScopedTarget scoped(GetParam());
  for (int64_t count : {1, 8, 17, 40}) {
    for (float bad : {INFINITY, -INFINITY, NAN}) {
      for (int64_t at = 0; at < count + 8; ++at) {
        std::vector<float> line(static_cast<size_t>(count + kLineSlack), 3e38f);
        line[at] = bad;
        EXPECT_EQ(Lines().any_nonfinite(line.data(), count), at < count) << at << " of " << count;
      }
    }
  }
}

TEST_P(LinesTest, AddAddsEveryElement) {
  const ScopedTarget scoped(GetParam());
  auto from = hwy::AllocateAligned<float>(48), to = hwy::AllocateAligned<float>(48);
  for (int i = 0; i < 48; ++i) from[i] = static_cast<float>(i), to[i] = 100.0f;
  Lines().add(from.get(), 48, to.get());
  for (int i = 0; i < 48; ++i) EXPECT_EQ(to[i], 100.0f + static_cast<float>(i));
}

INSTANTIATE_TEST_SUITE_P(Targets, LinesTest, testing::ValuesIn(MachineTargets()),
                         [](const auto& info) { return std::string(TargetName(info.param)); });

}  // namespace
}  // namespace canopy::kernels
