// SPDX-License-Identifier: Apache-2.0
#include "conv/streams.h"

#include <atomic>

#include "base/cpu.h"
#include "base/matrix_unit.h"
#include "conv/elements.h"
#include "kernels/streams.h"

namespace canopy::conv {
namespace {

constexpr int64_t kLeastRow = 2 * kernels::kMemoryLineFloats;  // that has a whole line wherever it begins

enum class Forced { kNo, kOff, kOn };
std::atomic<Forced> g_forced{Forced::kNo};

int64_t ActivationBytes(const ConvProblem& problem, uint8_t computations) {
  const Geometry& g = problem.geometry;
  const int64_t input = g.batch * g.input_channels * Volume(g.input_size);
  const int64_t output = g.batch * g.output_channels * Volume(g.output_size);
  const bool forward = (computations & kForward) != 0, data = (computations & kBackwardData) != 0;
  const bool reads_input = (computations & (kForward | kBackwardWeights | kBiasFromInput)) != 0;
  return output * numerics::ElementBytes(forward ? problem.output_result.dtype : problem.output.dtype) +
         (reads_input ? input * numerics::ElementBytes(problem.input.dtype) : 0) +
         (data ? input * numerics::ElementBytes(problem.input_result.dtype) : 0);
}

int64_t ResultBytes(const ConvProblem& problem, Computation computation) {
  const Geometry& g = problem.geometry;
  const bool forward = computation == kForward;
  const Operand& result = forward ? problem.output_result : problem.input_result;
  const int64_t plane = Volume(forward ? g.output_size : g.input_size);
  return g.batch * (forward ? g.output_channels : g.input_channels) * plane * numerics::ElementBytes(result.dtype);
}

// Whether that is more than so many tenths of a cache.
bool Exceed(int64_t tenths, int64_t bytes, int64_t cache) {
  const Forced forced = g_forced.load(std::memory_order_relaxed);
  if (forced != Forced::kNo) return forced == Forced::kOn;
  return cache > 0 && bytes > cache * tenths / 10;
}

}  // namespace

bool OutgrowsCaches(const ConvProblem& problem, uint8_t computations) {
  return Exceed(5, ActivationBytes(problem, computations), base::Cpu().l3_bytes);
}

bool FillsCaches(const ConvProblem& problem, uint8_t computations) {
  return Exceed(9, ActivationBytes(problem, computations), base::Cpu().l3_bytes);
}

bool L3IsSlow() { return base::MatrixUnit(); }

bool OutgrowsL2s(const ConvProblem& problem, uint8_t computations) {
  return Exceed(40, ActivationBytes(problem, computations), base::Cpu().l2_bytes);
}

bool ResultPassesL3(const ConvProblem& problem, Computation computation) {
  return Exceed(40, ResultBytes(problem, computation), L3IsSlow() ? base::Cpu().l2_bytes : 0);
}

StreamedRows RowsPastL3(const ConvProblem& problem, Computation computation) {
  if (!ResultPassesL3(problem, computation)) return StreamedRows::kNone;
  const bool all = Exceed(80, ResultBytes(problem, computation), base::Cpu().l2_bytes);
  return all ? StreamedRows::kAll : StreamedRows::kOfWholeLines;
}

bool Streams(StreamedRows which, const float* at, int64_t count, int64_t stride) {
  if (which == StreamedRows::kAll) return count >= kLeastRow;
  return which == StreamedRows::kOfWholeLines && kernels::AreLines(at, count) &&
         stride % kernels::kMemoryLineFloats == 0;
}

bool CopyPastCaches(const ConvProblem& problem, uint8_t computations) {
  const bool forced = g_forced.load(std::memory_order_relaxed) == Forced::kOn;
  return (forced || base::Cpu().halves) && FillsCaches(problem, computations);
}

bool WeightsOutgrowCaches(const ConvProblem& problem) {
  const Geometry& g = problem.geometry;
  const bool read = (problem.computations & (kForward | kBackwardData)) != 0;
  const int64_t weight_bytes =
      numerics::ElementBytes(problem.weight_result.dtype) + (read ? numerics::ElementBytes(problem.weight.dtype) : 0);
  return Exceed(5, g.output_channels * g.group_input_channels() * g.taps() * weight_bytes, base::Cpu().l3_bytes);
}

ScopedStreams::ScopedStreams(bool use) { g_forced = use ? Forced::kOn : Forced::kOff; }

ScopedStreams::~ScopedStreams() { g_forced = Forced::kNo; }

}  // namespace canopy::conv
