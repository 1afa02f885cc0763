// SPDX-License-Identifier: Apache-2.0
#include "conv/few_pairs/step.h"

#include <algorithm>

#include "conv/elements.h"
#include "conv/grid.h"
#include "conv/packing/scratch.h"
#include "exec/pool.h"

namespace canopy::conv::few_pairs {
namespace {

constexpr int64_t kLanes = kernels::kFewPairsLanes;

// In units of Step::Work.
constexpr double kWorkAProduct = 1;
constexpr double kWorkAPair = 2.5;  // of a gradient
constexpr double kWorkAnElement = 2;
constexpr double kWorkARow = 4;
constexpr double kWorkAStep = 100;

// The channels of each pixel.
Rows PixelRows(const Operand& operand, int64_t batch, const Extent3& size, int64_t channels, int64_t pitch) {
  const int64_t bytes = numerics::ElementBytes(operand.dtype);
  const auto& s = operand.strides;
  Rows rows{operand.dtype, {}, channels, s[1] * bytes, pitch};
  rows.offsets.reserve(batch * Volume(size));
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t d = 0; d < size[0]; ++d) {
      for (int64_t h = 0; h < size[1]; ++h) {
        int64_t at = (n * s[0] + d * s[2] + h * s[3]) * bytes;
        for (int64_t w = 0; w < size[2]; ++w, at += s[4] * bytes) rows.offsets.push_back(at);
      }
    }
  }
  return rows;
}

// The input channels of each tap and output channel.
Rows KernelRows(const Operand& operand, const Geometry& g) {
  const int64_t bytes = numerics::ElementBytes(operand.dtype);
  const auto& s = operand.strides;
  Rows rows{operand.dtype, {}, g.input_channels, s[1] * bytes, kLanes};
  rows.offsets.reserve(g.taps() * g.output_channels);
  for (int64_t d = 0; d < g.kernel[0]; ++d) {
    for (int64_t h = 0; h < g.kernel[1]; ++h) {
      for (int64_t w = 0; w < g.kernel[2]; ++w) {
        int64_t at = (d * s[2] + h * s[3] + w * s[4]) * bytes;
        for (int64_t o = 0; o < g.output_channels; ++o, at += s[0] * bytes) rows.offsets.push_back(at);
      }
    }
  }
  return rows;
}

// The output positions of an axis whose pixel under kernel offset `k` exists, and the first such pixel.
struct Overlap {
  Overlap(const Geometry& g, int axis, int64_t k) {
    const int64_t shift = k * g.dilation[axis] - g.pad_begin[axis], stride = g.stride[axis];
    ValidRange(stride, shift, g.input_size[axis], g.output_size[axis], &low, &high);
    pixel = low * stride + shift;
  }

  int64_t low, high, pixel;
};

}  // namespace

PairsStep::PairsStep(const ConvProblem& problem, uint8_t computations, plan::WorkspaceLedger* ledger)
    : computations_(computations),
      inputs_(problem.geometry.input_channels),
      outputs_(problem.geometry.output_channels) {
  const Geometry& g = problem.geometry;
  ListPairs(g);
  output_ = PixelRows(problem.output, g.batch, g.output_size, outputs_, outputs_);
  if (Computes(kBackwardData)) {
    weight_ = KernelRows(problem.weight, g);
    input_result_ = PixelRows(problem.input_result, g.batch, g.input_size, inputs_, kLanes);
  }
  if (Computes(kBackwardWeights)) {
    input_ = PixelRows(problem.input, g.batch, g.input_size, inputs_, kLanes);
    weight_result_ = KernelRows(problem.weight_result, g);
  }
  work_ = Estimate();
  int64_t bytes = 0;
  ScratchAt(nullptr, &bytes);
  scratch_handle_ = ledger->Book("rows of pixels and kernels", bytes);
}

void PairsStep::ListPairs(const Geometry& g) {
  const Extent3 &in = g.input_size, &out = g.output_size, &stride = g.stride;
  pairs_.reserve(g.batch * g.taps() * Volume(out));
  ends_.reserve(g.taps());
  for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
    const Overlap depths(g, 0, kd);
    for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
      const Overlap rows(g, 1, kh);
      for (int64_t kw = 0; kw < g.kernel[2]; ++kw) {
        const Overlap columns(g, 2, kw);
        for (int64_t n = 0; n < g.batch; ++n) {
          for (int64_t d = depths.low; d < depths.high; ++d) {
            const int64_t depth = n * in[0] + depths.pixel + (d - depths.low) * stride[0];
            for (int64_t h = rows.low; h < rows.high; ++h) {
              int64_t from = (depth * in[1] + rows.pixel + (h - rows.low) * stride[1]) * in[2] + columns.pixel;
              int64_t to = ((n * out[0] + d) * out[1] + h) * out[2] + columns.low;
              for (int64_t w = columns.low; w < columns.high; ++w, from += stride[2], ++to) {
                pairs_.push_back({static_cast<int32_t>(from * kLanes), static_cast<int32_t>(to * outputs_)});
              }
            }
          }
        }
        ends_.push_back(static_cast<int32_t>(pairs_.size()));
      }
    }
  }
}

double PairsStep::Estimate() const {
  const double gradients = (Computes(kBackwardData) ? 1 : 0) + (Computes(kBackwardWeights) ? 1 : 0);
  const double pairs = static_cast<double>(pairs_.size()), outputs = static_cast<double>(outputs_);
  double work = kWorkAStep + gradients * pairs * (kWorkAPair + kWorkAProduct * outputs);
  for (const Rows* rows : {&input_, &output_, &weight_, &input_result_, &weight_result_}) {
    work += static_cast<double>(rows->offsets.size()) * (kWorkARow + kWorkAnElement * static_cast<double>(rows->count));
  }
  return work;
}

Scratch PairsStep::ScratchAt(char* at, int64_t* bytes) const {
  packing::Carver carver(at);
  Scratch scratch;
  scratch.input = carver.Take<float>(input_.floats());
  scratch.output = carver.Take<float>(output_.floats());
  scratch.weights = carver.Take<float>(weight_.floats());
  scratch.data = carver.Take<float>(input_result_.floats());
  scratch.gradients = carver.Take<float>(weight_result_.floats());
  int64_t raw = 0;
  for (const Rows* rows : {&input_, &output_, &weight_, &input_result_, &weight_result_}) {
    raw = std::max(raw, rows->floats());
  }
  scratch.raw = reinterpret_cast<char*>(carver.Take<float>(raw));
  if (bytes != nullptr) *bytes = carver.used();
  return scratch;
}

void PairsStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                    void* workspace) const noexcept {
  const Scratch scratch = ScratchAt(static_cast<char*>(ledger.Fetch(workspace, scratch_handle_)), nullptr);
  // For the rounding of its jobs, whatever the caller's.
  exec::ParallelFor(1, true, [&](int64_t, int) { Compute(problem, buffers, scratch); });
}

void PairsStep::Compute(const ConvProblem& problem, const Buffers& buffers, const Scratch& scratch) const {
  const numerics::NumericRule& rule = problem.rule;
  const kernels::PixelPairs pairs{pairs_.data(), ends_.data(), static_cast<int64_t>(ends_.size()), inputs_, outputs_};
  Read(buffers.output, output_, rule, scratch.raw, scratch.output);
  if (Computes(kBackwardData)) {
    Read(buffers.weight, weight_, rule, scratch.raw, scratch.weights);
    std::fill(scratch.data, scratch.data + input_result_.floats(), 0.0f);
    kernels::FewPairs().add_data(pairs, scratch.output, scratch.weights, scratch.data);
    Write(scratch.data, input_result_, rule.saturate, scratch.raw, buffers.input_result);
  }
  if (Computes(kBackwardWeights)) {
    Read(buffers.input, input_, rule, scratch.raw, scratch.input);
    kernels::FewPairs().sum_weights(pairs, scratch.input, scratch.output, scratch.gradients);
    Write(scratch.gradients, weight_result_, rule.saturate, scratch.raw, buffers.weight_result);
  }
  if (!Computes(kBiasFromOutput)) return;
  for (int64_t o = 0; o < outputs_; ++o) {
    float sum = 0;
    for (int64_t i = o; i < output_.floats(); i += outputs_) sum += scratch.output[i];
    StoreBias(problem, buffers, o, sum);
  }
}

std::string PairsStep::Describe() const {
  return std::to_string(pairs_.size()) + " pairs of pixels of " + std::to_string(inputs_) + " and " +
         std::to_string(outputs_) + " channels, listed by kernel offset";
}

}  // namespace canopy::conv::few_pairs
