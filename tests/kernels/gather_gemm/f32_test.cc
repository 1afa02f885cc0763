// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/gather_gemm/contract.h"
#include "kernels/streams.h"
#include "tests/kernels/random_floats.h"

namespace canopy::kernels {
namespace {

constexpr GatherRun kRuns[] = {{7, 3, 5}, {0, 700, 1}, {40, 0, 64}, {9, 9, 0}};
constexpr float kUntouched = -7;

float MultiplyAdd(float x, float y, float sum, bool fused) { return fused ? std::fma(x, y, sum) : x * y + sum; }

enum class Kind {
  kScattered,
  kAhead,
  kScatteredStreamed,
  kAheadStreamed,
  kAdjacent,
  kCopying,
  kStreamed,
  kCopyingStreamed,
  kSplit,
  kCopyingSplit
};

// Their results are not added to what was there.
bool IsStreamed(Kind kind) {
  return kind == Kind::kStreamed || kind == Kind::kCopyingStreamed || kind == Kind::kScatteredStreamed ||
         kind == Kind::kAheadStreamed;
}

// Where a split tile parts, and how far on in b the second part stands.
constexpr int64_t kSplit = 5, kBJump = 300;

// How far on in a another panel's rows stand.
constexpr int64_t kAPanel = 23;

// Runs a kernel of `rows` rows and holds every element of its result to the bits that the contract's order gives.
void Check(const GatherTiles& tiles, int rows, Kind kind, bool accumulate, bool fused, const std::string& trace) {
  const bool ahead = kind == Kind::kAhead || kind == Kind::kAheadStreamed;
  const bool scattered = ahead || kind == Kind::kScattered || kind == Kind::kScatteredStreamed;
  const bool copying = kind == Kind::kCopying || kind == Kind::kCopyingStreamed || kind == Kind::kCopyingSplit;
  const bool streamed = IsStreamed(kind);
  const bool split = kind == Kind::kSplit || kind == Kind::kCopyingSplit;
  const int64_t end = split ? tiles.lanes - 1 : tiles.lanes, part = split ? std::min(kSplit, end) : end;
  const int64_t b_jump = copying && split ? kBJump : 0;
  const int64_t panels = copying ? 1 : 3;
  const int64_t b_step = tiles.lanes + 9;
  const std::vector<float> a = RandomFloats(4000, 1),
                           b = RandomFloats(static_cast<size_t>(700 + kBJump + 64 * b_step), 2);
  const int64_t c_row = tiles.lanes + (streamed ? kMemoryLineFloats : 5);
  std::vector<int64_t> row_offsets, result_offsets;
  for (int64_t r = 0; r < panels * rows; ++r) {  // of scattered rows, each panel has its own
    row_offsets.push_back((r * 37) % 101);
    result_offsets.push_back((rows - 1 - r % rows) * c_row +
                             (scattered ? r / rows * (streamed ? kMemoryLineFloats : 1) : 0));
  }
  const int64_t c_panel = rows * c_row + (streamed ? kMemoryLineFloats : panels), c_jump = panels * c_panel;
  const int64_t offsets_panel = scattered ? rows : 0;
  const size_t c_floats = static_cast<size_t>(2 * c_jump);
  const auto c = hwy::AllocateAligned<float>(c_floats);
  std::fill_n(c.get(), c_floats, kUntouched);
  std::vector<float> expected(c_floats, kUntouched);
  const int64_t added_step = tiles.lanes + 1;
  const std::vector<float> added = RandomFloats(static_cast<size_t>(panels * rows * added_step), 3);
  GatherOperands operands{kRuns, 4, a.data(), row_offsets.data(), 21, b.data(), b_step, nullptr, nullptr};
  for (int64_t panel_row = 0; panel_row < panels * rows; ++panel_row) {
    const int64_t panel = panel_row / rows, r = panel_row % rows, listed = panel * offsets_panel + r;
    for (int l = 0; l < end; ++l) {
      float sum = 0;
      for (const GatherRun& run : kRuns) {
        for (int64_t i = 0; i < run.terms; ++i) {
          const int64_t x = run.a + panel * kAPanel + (scattered ? row_offsets[listed] + i : i * operands.a_step + r);
          sum = MultiplyAdd(a[x], b[run.b + i * operands.b_step + l + (l < part ? 0 : b_jump)], sum, fused);
        }
      }
      float& to = expected[panel * c_panel + result_offsets[listed] + l + (l < part ? 0 : c_jump)];
      to = !accumulate ? sum : split ? added[panel_row * added_step + l] + sum : to + sum;
    }
  }
  operands.c = c.get();
  operands.streams = streamed;
  operands.result_offsets = result_offsets.data();
  int64_t terms = 0;
  for (const GatherRun& run : kRuns) terms += run.terms;
  std::vector<float> copy(static_cast<size_t>(terms * (tiles.lanes + 3)), kUntouched), expected_copy = copy;
  operands.split = part;
  operands.end = end;
  operands.b_jump = b_jump;
  operands.c_jump = c_jump;
  operands.added = added.data();
  operands.added_step = added_step;
  if (copying) {
    operands.b_copy = copy.data();
    operands.b_copy_step = tiles.lanes + 3;
    float* to = expected_copy.data();
    for (const GatherRun& run : kRuns) {
      for (int64_t i = 0; i < run.terms; ++i, to += tiles.lanes + 3) {
        std::fill_n(to, tiles.lanes, 0.0f);
        for (int l = 0; l < end; ++l) to[l] = b[run.b + i * b_step + l + (l < part ? 0 : b_jump)];
      }
    }
  }
  operands.panels = panels;
  operands.a_panel = kAPanel;
  operands.c_panel = c_panel;
  operands.offsets_panel = offsets_panel;
  operands.ahead_panel = 192;
  operands.ahead = b.data();
  operands.asks = 2;
  operands.ahead_step = 64;
  operands.ahead_terms = 3;
  operands.ahead_row = 128;
  const GatherGemmFn* by_rows = ahead                         ? +tiles.scattered_ahead
                                : scattered                   ? +tiles.scattered
                                : kind == Kind::kSplit        ? +tiles.adjacent_split
                                : kind == Kind::kCopyingSplit ? +tiles.adjacent_copying_split
                                : copying                     ? +tiles.adjacent_copying
                                                              : +tiles.adjacent;
  by_rows[rows](operands, accumulate);
  if (streamed) FinishStreams();
  ASSERT_EQ(std::vector<float>(c.get(), c.get() + c_floats), expected)
      << trace << " " << rows << " rows by " << tiles.lanes;
  ASSERT_EQ(copy, expected_copy) << trace << " " << rows << " rows by " << tiles.lanes;
}

TEST(GatherGemmTest, EveryTileGivesTheContractsBitsAndWritesNothingElse) {
  for (int64_t target : MachineTargets()) {
    const std::string name = TargetName(target);
    const bool fused = name != "SSE4" && name != "SCALAR";  // no fused multiply-add there
    const ScopedTarget scoped(target);
    const GatherTilesList list = AllGatherTiles();
    ASSERT_GE(list.count, 3) << name;
    for (int v = 0; v < list.count; ++v) {
      const GatherTiles& tiles = list.tiles[v];
      ASSERT_EQ(tiles.lanes, (v + 1) * list.vector_lanes);
      ASSERT_LE(tiles.most_rows, GatherTiles::kMostRows);
      for (int rows = 1; rows <= tiles.most_rows; ++rows) {
        for (Kind kind :
             {Kind::kScattered, Kind::kAhead, Kind::kScatteredStreamed, Kind::kAheadStreamed, Kind::kAdjacent,
              Kind::kCopying, Kind::kStreamed, Kind::kCopyingStreamed, Kind::kSplit, Kind::kCopyingSplit}) {
          if (kind >= Kind::kSplit && tiles.adjacent_split[rows] == nullptr) continue;
          Check(tiles, rows, kind, false, fused, name);
          if (!IsStreamed(kind)) Check(tiles, rows, kind, true, fused, name);
        }
      }
    }
  }
}

}  // namespace
}  // namespace canopy::kernels
