// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "base/checked_math.h"
#include "conv/sheets/sheet.h"
#include "conv/toeplitz/step.h"
#include "conv/work.h"
#include "exec/pool.h"
#include "kernels/toeplitz/contract.h"

namespace canopy::conv::toeplitz {
namespace {

constexpr int64_t kMostRows = 256;  // of all images: terms of a weight's sum before a second level

// In vector multiply-adds at the peak rate, measured.
constexpr double kRowWork = 8;         // of a row's way from or to its tensor
constexpr double kConversionWork = 4;  // more where elements are not plain FP32
constexpr double kPlaneWork = 60;
constexpr double kKernelRowWork = 60;
constexpr double kWeightWork = 0.2;
constexpr double kOverhead = 1;

}  // namespace

ToeplitzStep::ToeplitzStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger)
    : computation_(computation), lanes_(kernels::Toeplitz().lanes) {
  const Geometry& g = problem.geometry;
  const int64_t images = g.batch * g.output_size[0];
  const int64_t most = std::max<int64_t>(1, kMostRows / std::max(g.input_size[1], g.output_size[1]));
  image_blocks_ = base::CeilDiv(images, most);
  images_ = base::CeilDiv(images, image_blocks_);
  input_floats_ = g.input_size[1] * images_ * lanes_;
  output_floats_ = g.output_size[1] * images_ * lanes_;
  // Vectors reach beyond the ends of the last and the first row.
  weight_floats_ = base::RoundUp(g.taps() + 2 * lanes_, lanes_);
  line_floats_ = base::RoundUp(sheets::LineFloats(g.kernel[2]), lanes_);
  // Weight gradients have a second level.
  const int64_t thread_floats = input_floats_ + output_floats_ + 2 * weight_floats_ + line_floats_;
  scratch_handle_ = ledger->BookEach("rows", thread_floats * static_cast<int64_t>(sizeof(float)), exec::ThreadCount());
  work_ = CountWork(problem);
}

double ToeplitzStep::CountWork(const ConvProblem& problem) const {
  const Geometry& g = problem.geometry;
  const bool plain = problem.IsPlain(problem.input) && problem.IsPlain(problem.output);
  const bool weights = computation_ == kBackwardWeights;
  double pairs = 0;  // of rows that meet
  for (int64_t k = 0; k < g.kernel[1]; ++k) {
    const int64_t shift = k - g.pad_begin[1];
    const int64_t rows = std::min(g.output_size[1], g.input_size[1] - shift) - std::max<int64_t>(0, -shift);
    pairs += static_cast<double>(std::max<int64_t>(0, rows));
  }
  const int64_t columns = weights || computation_ == kBackwardData ? g.output_size[2] : g.input_size[2];
  const double images = static_cast<double>(g.batch * g.output_size[0]);
  const double rows = static_cast<double>(g.input_size[1] + g.output_size[1]);
  const double image = pairs * static_cast<double>(columns + (weights ? 1 : 2)) + kPlaneWork +
                       rows * (kRowWork + (plain ? 0 : kConversionWork));
  const double block = static_cast<double>(g.kernel[1]) * (kKernelRowWork + static_cast<double>(columns) * 4) +
                       kWeightWork * static_cast<double>(g.taps());
  return kOverhead * static_cast<double>(g.groups * lanes_) / kWorkLanes *
         (images * image + static_cast<double>(image_blocks_) * block);
}

std::string ToeplitzStep::Describe() const {
  return "rows of " + std::to_string(images_) + " images together, in " + std::to_string(image_blocks_) + " blocks";
}

std::unique_ptr<Step> MakeStep(const ConvProblem& problem, Computation computation, plan::WorkspaceLedger* ledger) {
  return std::make_unique<ToeplitzStep>(problem, computation, ledger);
}

}  // namespace canopy::conv::toeplitz
