// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/data_step.h"

#include <algorithm>

#include "base/checked_math.h"
#include "conv/channel_lanes/scratch.h"
#include "exec/pool.h"

namespace canopy::conv::winograd {
namespace {

using base::CeilDiv;
using base::RoundUp;

constexpr int64_t kTerms = 128;                     // of a tile product, about: FP32 sums stay short
constexpr int64_t kTiles = 64;                      // of a box: what a point's kernels, once in the L1, are worth
constexpr int64_t kTilesOfDepths = 128;             // neighbouring depths share windows
constexpr int64_t kLeastTiles = 16;                 // where the workspace is short
constexpr int64_t kFewTiles = 128;                  // whose sums for a panel stay in the L2
constexpr int64_t kKernelBytes = int64_t{4} << 20;  // transformed at once, for all threads
constexpr int64_t kSharedBytes = int64_t{7} << 20;  // of kernels and windows together, but for
constexpr double kSharedPart = 0.15;                // of the tensors' bytes

// In units of Step::Work.
constexpr double kEfficiency = 0.95;      // of the products
constexpr double kEfficiencyOfOne = 0.7;  // of tiles of one vector: a load for every multiply-add
constexpr double kWorkATileCall = 60;
constexpr double kWorkATileVector = 2;    // adding to one vector of a sum
constexpr double kWorkAKernelVector = 3;  // bringing one vector of a kernel from the L3, once a box
constexpr double kWorkAPackedWeight = 1;
constexpr double kWorkASlabElem = 1.3;
constexpr double kWorkAStore = 1.2;
constexpr double kWorkAWindowElem = 19;  // transforming one channel of a window, kernel or tile
constexpr double kWorkAKernelElem = 7;
constexpr double kWorkATileElem = 10;

}  // namespace

DataStep::DataStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : forward_(computation == kForward),
      weight_(problem, computation == kForward),
      direct_(problem, computation, ledger) {
  ledger->StartOver();  // its time is after this step's own
  const Geometry& g = problem.geometry;
  source_ = forward_ ? problem.input : problem.output;
  result_ = forward_ ? problem.output_result : problem.input_result;
  source_size_ = forward_ ? g.input_size : g.output_size;
  result_size_ = forward_ ? g.output_size : g.input_size;
  source_channels_ = forward_ ? g.group_input_channels() : g.group_output_channels();
  result_channels_ = forward_ ? g.group_output_channels() : g.group_input_channels();
  padded_sources_ = RoundUp(source_channels_, kernels::kWinogradLanes);
  terms_chunk_ = std::max<int64_t>(1, kTerms / g.kernel[0] / kKernelChunk) * kKernelChunk;
  for (int axis = 0; axis < 3; ++axis) {
    shift_[axis] = forward_ ? -g.pad_begin[axis] : g.pad_begin[axis] - (g.kernel[axis] - 1);
  }
  panels_ = channel_lanes::LanePanels(result_channels_, 1);
  ChooseCut(g);
  if (block_units_ > 0) {
    kernels_handle_ = ledger->Book("transformed kernels", block_units_ * kernel_floats() * int64_t{sizeof(float)});
  }
  if (batch_boxes_ > 0) {
    windows_handle_ =
        ledger->Book("transformed windows", g.groups * batch_boxes_ * window_floats() * int64_t{sizeof(float)});
  }
  found_handle_ = ledger->Book("whether a result is not finite", sizeof(int32_t));
  ScratchAt(nullptr, &scratch_bytes_);
  scratch_handle_ = ledger->Book("scratch of " + std::to_string(exec::ThreadCount()) + " threads",
                                 scratch_bytes_ * exec::ThreadCount());
}

void DataStep::ChooseCut(const Geometry& g) {
  const Extent3 size = {result_size_[0], CeilDiv(result_size_[1], kTile), CeilDiv(result_size_[2], kTile)};
  boxes_ = channel_lanes::Boxes(g.batch, size, {1, 1, 1}, g.kernel[0] > 1 ? kTilesOfDepths : kTiles);
  work_ = EstimateWork(g);  // algorithms are compared by it: nothing here depends on the threads
  const channel_lanes::Boxes whole(g.batch, size, {1, 1, 1}, kFewTiles);
  const int64_t budget = kSharedBytes + static_cast<int64_t>(kSharedPart * TensorBytes(g));
  const int64_t tile_bytes = g.groups * padded_sources_ * kernels::WinogradPoints(2) * int64_t{sizeof(float)};
  if (whole.count() == 1 && whole.positions() * tile_bytes <= budget && units(g) >= 2 * exec::ThreadCount()) {
    boxes_ = whole;
    block_units_ = 0;
    batch_boxes_ = 1;
    return;
  }
  const int64_t bytes = kernel_floats() * int64_t{sizeof(float)};
  const int64_t enough = CeilDiv(2 * exec::ThreadCount(), std::max<int64_t>(1, boxes_.count()));
  block_units_ = std::clamp<int64_t>(std::max(kKernelBytes / bytes, enough), 1, units(g));
  const bool all = block_units_ == units(g);
  if (all && (boxes_.count() * g.groups >= 2 * exec::ThreadCount() || boxes_.count() == 0)) return;
  // One unit's kernels and one box's windows must fit.
  const auto box_bytes_now = [&] { return g.groups * window_floats() * int64_t{sizeof(float)}; };
  for (int64_t tiles = kTiles - 8; tiles >= kLeastTiles && bytes + box_bytes_now() > budget; tiles -= 8) {
    boxes_ = channel_lanes::Boxes(g.batch, size, {1, 1, 1}, tiles);
  }
  const int64_t box_bytes = box_bytes_now();
  batch_boxes_ = std::clamp<int64_t>((budget - block_units_ * bytes) / box_bytes, 1, boxes_.count());
}

// Of source, result and weights.
double DataStep::TensorBytes(const Geometry& g) const {
  double bytes =
      static_cast<double>(g.output_channels * g.group_input_channels() * g.taps()) * static_cast<double>(sizeof(float));
  const auto add = [&](int64_t channels, const Extent3& size, numerics::DType dtype) {
    bytes += static_cast<double>(g.batch * g.groups * channels) * static_cast<double>(size[0] * size[1] * size[2]) *
             static_cast<double>(numerics::ElementBytes(dtype));
  };
  add(source_channels_, source_size_, source_.dtype);
  add(result_channels_, result_size_, result_.dtype);
  return bytes;
}

double DataStep::EstimateWork(const Geometry& g) const {
  constexpr double kPoints = kernels::WinogradPoints(2);
  const double sources = static_cast<double>(padded_sources_), vectors = static_cast<double>(panels_.vectors());
  const double lanes = vectors * static_cast<double>(panels_.vector_lanes());
  const double positions = static_cast<double>(g.batch * result_size_[0] * result_size_[1] * result_size_[2]);
  const double boxes = static_cast<double>(boxes_.count());
  const double tiles = static_cast<double>(g.batch * result_size_[0] * CeilDiv(result_size_[1], kTile) *
                                           CeilDiv(result_size_[2], kTile));
  const channel_lanes::Extent4& box = boxes_.extent();
  const double reach = static_cast<double>((box[2] * kTile + 2) * (box[3] * kTile + 2)) /
                       static_cast<double>(std::max<int64_t>(1, box[2] * box[3] * kTile * kTile));
  const double chunks = static_cast<double>(CeilDiv(source_channels_, terms_chunk_)),
               depths = static_cast<double>(g.kernel[0]);
  const double calls = boxes * static_cast<double>(CeilDiv(boxes_.positions(), panels_.most_rows()) * panels_.blocks());
  const double products =
      kPoints * (tiles * depths * sources * vectors / (vectors == 1 ? kEfficiencyOfOne : kEfficiency) +
                 tiles * vectors * chunks * kWorkATileVector + calls * chunks * kWorkATileCall +
                 boxes * depths * sources * vectors * kWorkAKernelVector);
  const double slices = (static_cast<double>(box[1]) + depths - 1) / static_cast<double>(std::max<int64_t>(1, box[1]));
  const double windows = sources * slices * (positions * reach * kWorkASlabElem + tiles * kWorkAWindowElem);
  const double results = lanes * (positions * kWorkAStore + tiles * kWorkATileElem);
  const double weights =
      sources * lanes * (static_cast<double>(weight_.taps) * kWorkAPackedWeight + depths * kWorkAKernelElem);
  return (products + windows + results + weights) * static_cast<double>(g.groups);
}

DataScratch DataStep::ScratchAt(char* at, int64_t* bytes) const {
  channel_lanes::Carver carver(at);
  DataScratch scratch;
  const int64_t lanes = panels_.panel_lanes(), tiles = boxes_.positions();
  const channel_lanes::Extent4& box = boxes_.extent();
  const int64_t pixels = box[0] * (box[1] + weight_.kernel[0] - 1) * (box[2] * kTile + 2) * (box[3] * kTile + 2);
  scratch.slab = carver.Take<float>((pixels + 1) * kSlabChannels);
  scratch.windows = carver.Take<float>(batch_boxes_ > 0 ? 0 : window_floats());
  scratch.kernels = carver.Take<float>(block_units_ > 0 ? 0 : kernel_floats());
  scratch.sums = carver.Take<float>(kernels::WinogradPoints(2) * sum_step());
  scratch.tiles = carver.Take<float>((tiles * kTile * kTile + 1) * lanes);
  scratch.weights = carver.Take<float>(weight_.taps * kKernelChunk * lanes);
  scratch.bias = carver.Take<float>(lanes);
  scratch.lines.lines = carver.Take<float>(channel_lanes::kLines * (channel_lanes::kLine + kernels::kLineSlack));
  scratch.lines.offsets = carver.Take<int64_t>(channel_lanes::kLine);
  scratch.weight_offsets = carver.Take<int64_t>(std::max(kKernelChunk * weight_.taps, channel_lanes::kLines));
  scratch.window_offsets = carver.Take<int64_t>(windows(box) * kWindow * kWindow);
  scratch.tile_offsets = carver.Take<int64_t>(tiles * kTile * kTile);
  scratch.row_offsets = carver.Take<int64_t>(tiles);
  scratch.sum_offsets = carver.Take<int64_t>(tiles);
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

std::string DataStep::Describe() const {
  const channel_lanes::Extent4& box = boxes_.extent();
  const auto at_once = [](int64_t count, const char* what) {
    return count > 0 ? std::to_string(count) + " " + what + " at once" : "in each job";
  };
  return "4x4 tiles in boxes of " + std::to_string(box[0]) + " images by " + std::to_string(box[1]) + "x" +
         std::to_string(box[2]) + "x" + std::to_string(box[3]) + ", panels of " +
         std::to_string(panels_.panel_lanes()) + " result channels; kernels transformed " +
         at_once(block_units_, "panels") + ", windows " + at_once(batch_boxes_, "boxes");
}

}  // namespace canopy::conv::winograd
