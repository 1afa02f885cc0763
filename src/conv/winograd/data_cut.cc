// SPDX-License-Identifier: Apache-2.0
// How a data gradient or forward is cut: what is transformed for all jobs, and which boxes of tiles a job computes.
#include <algorithm>

#include "base/checked_math.h"
#include "conv/tensor_bytes.h"
#include "conv/winograd/data_step.h"
#include "exec/pool.h"

namespace canopy::conv::winograd {
namespace {

using base::CeilDiv;

constexpr int64_t kBoxesAThread = 4;
constexpr int64_t kTilesOfABox = 8;  // as long as reading kernels again takes
constexpr int64_t kStepOfTiles = 4;
constexpr int64_t kFewSums = 128 * 36;              // of a panel's tiles and points, that stay in the L2
constexpr int64_t kManySums = 200 * 36;             // likewise, next to little else
constexpr double kSmallKernelShare = 0.1;           // of the work, that kernels are which jobs transform once more
constexpr int64_t kKernelBytes = int64_t{4} << 20;  // transformed at once, for all threads
constexpr int64_t kNearKernelBytes = int64_t{8} << 20;
constexpr int64_t kSharedBytes = int64_t{7} << 20;  // of kernels and windows together, beside a share of the tensors'

// Of a box, where numbers are in parts.
constexpr int64_t kMostTilesInParts = 512, kStepInParts = 8;
constexpr int64_t kFewestSquaresInParts = 28, kFewestLinesInParts = 96;

int64_t FewestInParts(const Tiling& tiling) {
  return tiling.transformed > 1 ? kFewestSquaresInParts : kFewestLinesInParts;
}

}  // namespace

// Of all tiles, where one panel's sums for them stay in the L2.
packing::Boxes DataStep::WholeBox(const Geometry& g) const { return MakeBoxes(g, kFewSums / tiling_.points()); }

// For kernels and windows that are shared.
int64_t DataStep::SharedBytes() const { return kSharedBytes + static_cast<int64_t>(kWorkspaceShare * tensor_bytes_); }

// So few that all their windows may be transformed first.
bool DataStep::FewTiles(const Geometry& g, const packing::Boxes& whole) const {
  return whole.count() == 1 && windows(whole.extent()) * WindowBytes(g) <= SharedBytes();
}

// Whether some cut keeps to the workspace that was promised, for one thread; more may have more.
bool DataStep::Fits(const Geometry& g) const {
  if (in_parts()) return RoomForParts(1) >= 0;
  const int64_t bytes = unit_floats() * int64_t{sizeof(float)};
  if (units(g) <= kKernelBytes / bytes || (units(g) > 1 && FewTiles(g, WholeBox(g)))) return true;
  return bytes + windows(MakeBoxes(g, kLeastTiles).extent()) * WindowBytes(g) <= SharedBytes();
}

// What the kernels that are transformed at once, and the threads' scratch, leave of the workspace.
int64_t DataStep::RoomForParts(int64_t threads) const {
  const int64_t kernel_bytes = block_units_ * unit_floats() * int64_t{sizeof(float)};
  return SharedBytes() - kSharedBytes + threads * (kThreadBytes - ScratchBytes()) - kernel_bytes;
}

// As many as there is room for beside the boxes, in even parts.
void DataStep::TakeUnitsInParts(const Geometry& g, int64_t threads) {
  block_units_ = 0;
  const int64_t most = RoomForParts(threads) / (unit_floats() * int64_t{sizeof(float)});
  const int64_t blocks = CeilDiv(units(g), std::clamp<int64_t>(most, 1, units(g)));
  block_units_ = CeilDiv(units(g), blocks);
}

// The cheapest boxes that fit, and as many kernels at once as there is room for beside them. Nothing depends on the
// threads.
void DataStep::CutForParts(const Geometry& g) {
  batch_boxes_ = 0;
  packing::Boxes best;
  int64_t best_units = 0;
  double least = 0;
  for (int64_t tiles = kMostTilesInParts; tiles >= FewestInParts(tiling_); tiles -= CeilDiv(tiles, kStepInParts)) {
    boxes_ = MakeBoxes(g, tiles);
    TakeUnitsInParts(g, 1);
    const double work = EstimateWork(g) + (Fits(g) ? 0 : kNoRoom);
    if (best_units > 0 && work >= least) continue;
    best = boxes_;
    best_units = block_units_;
    least = work;
  }
  boxes_ = best;
  block_units_ = best_units;
}

void DataStep::ChooseCut(const Geometry& g) {
  if (in_parts()) return ShareOutInParts(g);
  CutBoxes(g);
  // What most boxes leave room for is counted without a thread's scratch, which few need much of.
  for (int64_t tiles = boxes_.positions() - kStepOfTiles; tiles >= kLeastTiles && Exceeds(g); tiles -= kStepOfTiles) {
    boxes_ = MakeBoxes(g, tiles);
  }
  while (batch_boxes_ > 0 && !own_units_ && block_units_ > 1 && Exceeds(g)) --block_units_;
}

// Whether it is more than the workspace that was promised.
bool DataStep::Exceeds(const Geometry& g) const {
  const int64_t threads = exec::ThreadCount(), gaps = (threads - 1) * plan::WorkspaceLedger::kMostGap;
  const int64_t floats = block_units_ * unit_floats() + g.groups * batch_boxes_ * window_floats();
  return floats * int64_t{sizeof(float)} + threads * ScratchBytes() + gaps >
         SharedBytes() - kSharedBytes + threads * kThreadBytes - kBesidesBytes;
}

void DataStep::CutBoxes(const Geometry& g) {
  const packing::Boxes whole = WholeBox(g);
  const int64_t budget = SharedBytes();
  const bool many_units = units(g) >= 2 * exec::ThreadCount();
  if (FewTiles(g, whole) && many_units) {
    boxes_ = whole;
    block_units_ = 0;
    batch_boxes_ = 1;
    TakeOwnBoxes(g);
    return;
  }
  ShareOut(g);
  const int64_t bytes = unit_floats() * int64_t{sizeof(float)};
  const auto box_bytes_now = [&] { return g.groups * window_floats() * int64_t{sizeof(float)}; };
  const int64_t enough = CeilDiv(2 * exec::ThreadCount(), std::max<int64_t>(1, boxes_.count()));
  const bool room_for_all = units(g) <= (budget - window_floats() * int64_t{sizeof(float)}) / bytes;
  const int64_t room = (budget + (exec::ThreadCount() - 1) * (kThreadBytes - plan::WorkspaceLedger::kMostGap)) / bytes;
  const int64_t some = std::max(kKernelBytes / bytes, std::min(enough, room));
  block_units_ = room_for_all ? units(g) : std::clamp<int64_t>(some, 1, units(g));
  const bool all = block_units_ == units(g);
  const bool several = boxes_.count() * g.groups >= std::max(2, exec::ThreadCount());
  if (all && (several || boxes_.count() == 0)) {
    // What all boxes read again leaves the L3 no room for else.
    if (units(g) * bytes > kNearKernelBytes && many_units) TakeLargeBoxes(g, 0);
    return;
  }
  // The units' kernels must fit, and the windows of enough boxes for every thread to have a panel of one.
  const int64_t least = CeilDiv(exec::ThreadCount(), block_units_);
  const auto bytes_now = [&] { return block_units_ * bytes + least * box_bytes_now(); };
  for (int64_t tiles = MostTiles() - 8; tiles >= kLeastTiles && bytes_now() > budget; tiles -= 8) {
    boxes_ = MakeBoxes(g, tiles);
  }
  // The windows of all boxes at best: kernels are transformed again for those that are left.
  batch_boxes_ = 1;  // windows are not in the scratch
  const int64_t scratch_bytes = ScratchBytes();
  const int64_t more = (exec::ThreadCount() - 1) * std::max<int64_t>(0, kThreadBytes - scratch_bytes);
  const int64_t most = std::max<int64_t>(1, (budget + more - block_units_ * bytes) / box_bytes_now());
  batch_boxes_ = std::min(most > least ? most - most % least : most, boxes_.count());
  if (!many_units) return;
  TakeLargeBoxes(g, CeilDiv(boxes_.count(), batch_boxes_));
  const int64_t own = (budget + more - exec::ThreadCount() * bytes) / box_bytes_now();
  if (block_units_ == 0 || exec::ThreadCount() == 1 || own < batch_boxes_) return;
  own_units_ = true;
  block_units_ = exec::ThreadCount();
  batch_boxes_ = std::min(own, boxes_.count());
}

// In place of one box as many smaller ones for each thread, which transforms their windows and the kernels itself, if
// that is little more work: what another core has written takes long to come where the two share no cache.
void DataStep::TakeOwnBoxes(const Geometry& g) {
  const int64_t threads = exec::ThreadCount();
  if (threads == 1 || boxes_.count() != 1 || tiling_.terms() * tiling_.phases() != 1) return;
  const packing::Boxes shared = boxes_;
  const double kernels = KernelWork() * static_cast<double>(g.groups);
  batch_boxes_ = 0;
  for (int64_t tiles = CeilDiv(shared.positions(), threads); tiles >= kLeastTiles; tiles -= kStepOfTiles) {
    boxes_ = MakeBoxes(g, tiles);
    if (kernels * static_cast<double>(boxes_.count() - 1) > kSmallKernelShare * work_) break;
    if (boxes_.count() * g.groups % threads == 0 && !Exceeds(g)) return;
  }
  batch_boxes_ = 1;
  boxes_ = shared;
}

// Smaller boxes, if the thread that has most to do has less then; or, where one thread had no room for all kernels of
// squares, any boxes beside more of these, in the room of all threads.
void DataStep::ShareOutInParts(const Geometry& g) {
  const int64_t threads = exec::ThreadCount();
  if (threads == 1 || work_ < kSerialWork || boxes_.count() == 0) return;
  const bool more = tiling_.transformed > 1 && passes(g) > 1;
  packing::Boxes best = boxes_;
  int64_t best_units = block_units_;
  const auto longest = [&] {
    const int64_t jobs = boxes_.count() * g.groups;
    return EstimateWork(g) * static_cast<double>(CeilDiv(jobs, threads)) / static_cast<double>(jobs);
  };
  double least = longest();
  const int64_t most = more ? kMostTilesInParts : boxes_.positions() - 1;
  for (int64_t tiles = most; tiles >= FewestInParts(tiling_); tiles -= CeilDiv(tiles, kStepInParts)) {
    boxes_ = MakeBoxes(g, tiles);
    if (more) TakeUnitsInParts(g, threads);
    const double work = RoomForParts(threads) >= 0 ? longest() : kNoRoom;
    if (work >= least) continue;
    best = boxes_;
    best_units = block_units_;
    least = work;
  }
  boxes_ = best;
  block_units_ = best_units;
}

// Smaller boxes where the threads would wait for one another.
void DataStep::ShareOut(const Geometry& g) {
  const int64_t threads = exec::ThreadCount();
  if (threads == 1 || work_ < kSerialWork || boxes_.count() == 0) return;
  if (tiling_.transformed == 1) {
    for (int64_t tiles = MostTiles() / 2;
         tiles >= kFewTilesOfLines && boxes_.count() * g.groups < kBoxesAThread * threads; tiles /= 2) {
      boxes_ = MakeBoxes(g, tiles);
    }
    return;
  }
  if (boxes_.count() * g.groups >= kBoxesAThread * threads) return;
  // A job has all panels of a box where there are boxes enough.
  const auto panels = [&](int64_t boxes) { return boxes * g.groups >= threads ? panels_.blocks() : 1; };
  // In tiles of a panel, of the thread that has most to do; a further box reads its kernels again.
  const auto longest = [&](const packing::Boxes& boxes) {
    const int64_t together = panels(boxes.count());
    return CeilDiv(boxes.count() * units(g) / together, threads) * together * (boxes.positions() + kTilesOfABox);
  };
  for (int64_t tiles = boxes_.positions() - kStepOfTiles; tiles >= kLeastTiles; tiles -= kStepOfTiles) {
    const packing::Boxes smaller = MakeBoxes(g, tiles);
    if (longest(smaller) < longest(boxes_)) boxes_ = smaller;
  }
}

// One after another, for each of which every job transforms its kernels, chunk by chunk: if there is room for such as
// are fewer than `passes`, in which kernels are transformed as it is, or else take little more work. No thread reads
// then what another one has made but windows.
void DataStep::TakeLargeBoxes(const Geometry& g, int64_t passes) {
  const packing::Boxes boxes = boxes_;
  const int64_t block_units = block_units_, batch_boxes = batch_boxes_;
  block_units_ = 0;
  batch_boxes_ = 1;
  for (int64_t tiles = kManySums / tiling_.points(); tiles >= kLeastTiles; tiles -= CeilDiv(tiles, kLeastTiles)) {
    boxes_ = MakeBoxes(g, tiles);
    const double kernels = KernelWork() * static_cast<double>(g.groups * boxes_.count());
    if (boxes_.count() >= passes && kernels > kSmallKernelShare * work_) break;
    const int64_t scratch_bytes = ScratchBytes();
    const int64_t bytes = scratch_bytes + windows(boxes_.extent()) * WindowBytes(g);
    if (scratch_bytes <= kThreadBytes && bytes <= SharedBytes() + kThreadBytes - kSharedBytes) return TakeOwnBoxes(g);
  }
  boxes_ = boxes;
  block_units_ = block_units;
  batch_boxes_ = batch_boxes;
}

}  // namespace canopy::conv::winograd
