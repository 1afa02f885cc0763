// SPDX-License-Identifier: Apache-2.0
#include "conv/implicit_gemm/blocking.h"

#include <algorithm>

#include "base/checked_math.h"
#include "exec/pool.h"

namespace canopy::conv::implicit_gemm {
namespace {

constexpr int64_t kDepth = 256;       // a lane panel of 32 lanes then fills two thirds of a 48 KiB L1
constexpr int64_t kBlockRows = 256;   // with kDepth: 256 KiB of packed rows, a quarter of a 1 MiB L2
constexpr int64_t kBlockLanes = 256;  // result tiles: another quarter
constexpr int64_t kEnoughJobs = 16;   // shares out evenly over a few threads

}  // namespace

const kernels::GemmTile& ChooseTile(int64_t rows, int64_t lanes, double* cost) {
  const kernels::GemmTileList list = kernels::GemmTiles();
  const kernels::GemmTile* best = nullptr;
  for (int i = 0; i < list.count; ++i) {
    const kernels::GemmTile& tile = list.tiles[i];
    const double padded = static_cast<double>(base::CeilDiv(rows, tile.rows) * tile.rows) *
                          static_cast<double>(base::CeilDiv(lanes, tile.lanes) * tile.lanes) / tile.efficiency;
    if (best == nullptr || padded < *cost) {
      best = &tile;
      *cost = padded;
    }
  }
  return *best;
}

Blocking ChooseBlocking(const kernels::GemmTile& tile, int64_t rows, int64_t lanes, int64_t depth, int64_t products) {
  Blocking blocking;
  const int64_t depth_blocks = std::max<int64_t>(1, base::CeilDiv(depth, kDepth));
  blocking.depth = std::max<int64_t>(1, base::CeilDiv(depth, depth_blocks));
  const int64_t row_panels = base::CeilDiv(rows, tile.rows), lane_panels = base::CeilDiv(lanes, tile.lanes);
  blocking.row_panels = std::min({row_panels, kMostRowPanels, std::max<int64_t>(1, kBlockRows / tile.rows)});
  blocking.lane_panels = std::min(lane_panels, std::max<int64_t>(1, kBlockLanes / tile.lanes));
  const auto jobs = [&] {
    return products * base::CeilDiv(row_panels, std::max<int64_t>(1, blocking.row_panels)) *
           base::CeilDiv(lane_panels, std::max<int64_t>(1, blocking.lane_panels));
  };
  while (jobs() < kEnoughJobs && blocking.lane_panels > 2) blocking.lane_panels = (blocking.lane_panels + 1) / 2;
  while (jobs() < kEnoughJobs && blocking.row_panels > 4) blocking.row_panels = (blocking.row_panels + 1) / 2;
  blocking.row_panels = std::max<int64_t>(1, blocking.row_panels);
  blocking.lane_panels = std::max<int64_t>(1, blocking.lane_panels);
  return blocking;
}

ScratchLayout::ScratchLayout(const kernels::GemmTile& tile, const Blocking& blocking, bool rows_packed_by_job,
                             bool deep, plan::WorkspaceLedger* ledger) {
  const auto bytes = [](int64_t floats) {
    return base::RoundUp(floats * static_cast<int64_t>(sizeof(float)), plan::WorkspaceLedger::kAlignment);
  };
  // Every line and panel may be written past its end by a vector.
  rows_ = rows_packed_by_job ? bytes(blocking.row_panels * tile.rows * blocking.depth + kernels::kLineSlack) : 0;
  lanes_ = bytes(tile.lanes * blocking.depth + kernels::kLineSlack);
  tiles_ = bytes(blocking.row_panels * blocking.lane_panels * tile.rows * tile.lanes);
  deep_ = deep ? tiles_ : 0;
  line_ = bytes(std::max<int64_t>(blocking.depth, tile.lanes) + 2 * kernels::kLineSlack);
  segments_ =
      base::RoundUp(std::max<int64_t>(blocking.depth, tile.lanes) * static_cast<int64_t>(sizeof(kernels::Segment)),
                    plan::WorkspaceLedger::kAlignment);
  const int64_t total = rows_ + lanes_ + tiles_ + deep_ + 4 * line_ + segments_;
  handle_ = ledger->BookEach("scratch", total, exec::ThreadCount());
}

JobScratch ScratchLayout::At(const plan::WorkspaceLedger& ledger, void* workspace, int worker) const {
  char* at = ledger.FetchEach(workspace, handle_).Of(worker);
  JobScratch scratch;
  const auto take = [&at](int64_t bytes) {
    float* here = reinterpret_cast<float*>(at);
    at += bytes;
    return here;
  };
  scratch.rows = take(rows_);
  scratch.lanes = take(lanes_);
  scratch.tiles = take(tiles_);
  scratch.deep = take(deep_);
  for (float*& line : scratch.lines) line = take(line_);
  scratch.segments = reinterpret_cast<kernels::Segment*>(take(segments_));
  return scratch;
}

std::string DescribeBlocking(const kernels::GemmTile& tile, const Blocking& blocking) {
  return "tile " + std::to_string(tile.rows) + "x" + std::to_string(tile.lanes) + ", job " +
         std::to_string(blocking.row_panels * tile.rows) + "x" + std::to_string(blocking.lane_panels * tile.lanes) +
         ", depth " + std::to_string(blocking.depth);
}

}  // namespace canopy::conv::implicit_gemm
