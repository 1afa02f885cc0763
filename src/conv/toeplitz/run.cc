// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "conv/sheets/sheet.h"
#include "conv/toeplitz/step.h"
#include "exec/pool.h"
#include "kernels/toeplitz/contract.h"

namespace canopy::conv::toeplitz {

// One run of one step.
class ToeplitzRun {
 public:
  ToeplitzRun(const ToeplitzStep& step, const ConvProblem& problem, const Buffers& buffers, plan::Shares scratch)
      : s_(step),
        g_(problem.geometry),
        p_(problem),
        scratch_(scratch),
        weight_(buffers.weight, p_.weight.dtype, p_.rule),
        input_(buffers.input, p_.input, p_.rule),
        output_(buffers.output, p_.output, p_.rule),
        weight_result_(buffers.weight_result, p_.weight_result.dtype, p_.rule.saturate),
        result_(Forward() ? buffers.output_result : buffers.input_result,
                Forward() ? p_.output_result : p_.input_result, p_.rule.saturate) {}

  void Run() const {
    const bool serial = s_.work_ < kSerialWork;
    if (s_.computation_ == kBackwardWeights) {
      exec::ParallelFor(g_.groups, serial, [this](int64_t channel, int worker) { Weights(channel, At(worker)); });
    } else {
      exec::ParallelFor(g_.groups * s_.image_blocks_, serial, [this](int64_t index, int worker) {
        Data(index / s_.image_blocks_, index % s_.image_blocks_, At(worker));
      });
    }
  }

 private:
  struct Scratch {
    float *input, *output, *weights, *sums, *line;
  };
  // Rows of outputs, and of the inputs that they meet under a row of the kernel.
  struct Rows {
    int64_t first, count, shift;
  };

  bool Forward() const { return s_.computation_ == kForward; }

  Scratch At(int worker) const {
    Scratch scratch;
    scratch.input = scratch_.Of<float>(worker);
    scratch.output = scratch.input + s_.input_floats_;
    scratch.weights = scratch.output + s_.output_floats_;
    scratch.sums = scratch.weights + s_.weight_floats_;
    scratch.line = scratch.sums + s_.weight_floats_;
    return scratch;
  }

  Rows RowsUnder(int64_t kernel_row) const {
    const int64_t shift = kernel_row - g_.pad_begin[1], first = std::max<int64_t>(0, -shift);
    return {first, std::min(g_.output_size[1], g_.input_size[1] - shift) - first, shift};
  }

  int64_t Images(int64_t block) const {
    return std::min(s_.images_, g_.batch * g_.output_size[0] - block * s_.images_);
  }

  // Calls visit(plane, offset of its first row) for the images of a block.
  template <class Tensor, class Visit>
  void ForPlanes(const Tensor& tensor, int64_t channel, int64_t block, const Visit& visit) const {
    for (int64_t i = 0; i < Images(block); ++i) {
      const int64_t image = block * s_.images_ + i, depths = g_.output_size[0];
      visit(tensor.PlaneAt(image / depths, channel, image % depths), i * s_.lanes_);
    }
  }

  static sheets::PlanePart Whole(const Extent3& size) { return {0, 1, size[1], 0, size[2]}; }

  void Load(const sheets::PlaneReader& tensor, const Extent3& size, int64_t channel, int64_t block, float* line,
            float* to) const {
    ForPlanes(tensor, channel, block, [&](int64_t plane, int64_t at) {
      tensor.Load(plane, Whole(size), Images(block) * s_.lanes_, line, to + at, nullptr);
    });
    if (channel + 1 == g_.groups) return;
    ForPlanes(tensor, channel + 1, block, [&](int64_t plane, int64_t) { tensor.Prefetch(plane, Whole(size)); });
  }

  void Data(int64_t channel, int64_t block, const Scratch& scratch) const {
    const kernels::ToeplitzKernels& kernels = kernels::Toeplitz();
    const Extent3 &source_size = Forward() ? g_.input_size : g_.output_size,
                  &result_size = Forward() ? g_.output_size : g_.input_size;
    float *source = Forward() ? scratch.input : scratch.output, *results = Forward() ? scratch.output : scratch.input;
    const int64_t row = Images(block) * s_.lanes_;
    LoadWeights(channel, scratch);
    Load(Forward() ? input_ : output_, source_size, channel, block, scratch.line, source);
    std::memset(results, 0, static_cast<size_t>(result_size[1] * row) * sizeof(float));
    // The weight under shift 0 between the columns.
    const int64_t origin = s_.lanes_ + (Forward() ? g_.kernel[2] - 1 - g_.pad_begin[2] : g_.pad_begin[2]);
    for (int64_t k = 0; k < g_.kernel[1]; ++k) {
      const Rows rows = RowsUnder(k);
      if (rows.count <= 0) continue;
      const int64_t input = (rows.first + rows.shift) * row, output = rows.first * row;
      kernels::ToeplitzProductCall call{};
      call.weights = scratch.weights + origin + k * g_.kernel[2];
      call.source = source + (Forward() ? input : output);
      call.results = results + (Forward() ? output : input);
      call.rows = rows.count * Images(block);
      kernels.products[source_size[2]](call);
    }
    ForPlanes(result_, channel, block, [&](int64_t plane, int64_t at) {
      result_.Store(results + at, nullptr, row, Whole(result_size), scratch.line, plane);
    });
  }

  // Row by row behind a vector's room; forward, from the last column to the first.
  void LoadWeights(int64_t channel, const Scratch& scratch) const {
    const auto& strides = p_.weight.strides;
    float* to = scratch.weights + s_.lanes_;
    const int64_t columns = g_.kernel[2], first = channel * strides[0];
    if (strides[4] == 1 && strides[3] == columns) {
      weight_.FetchRun(first, g_.taps(), to);
    } else {
      for (int64_t r = 0; r < g_.kernel[1]; ++r) {
        weight_.FetchGrid(first + r * strides[3], 0, 1, strides[4], columns, to + r * columns);
      }
    }
    if (!Forward()) return;
    for (int64_t r = 0; r < g_.kernel[1]; ++r) std::reverse(to + r * columns, to + (r + 1) * columns);
  }

  void Weights(int64_t channel, const Scratch& scratch) const {
    SumBlock(channel, 0, scratch, scratch.weights);
    for (int64_t block = 1; block < s_.image_blocks_; ++block) {
      SumBlock(channel, block, scratch, scratch.sums);
      for (int64_t i = 0; i < g_.taps(); ++i) scratch.weights[i] += scratch.sums[i];
    }
    const auto& strides = p_.weight_result.strides;
    const bool dense = strides[3] == g_.kernel[2] * strides[4];
    const int64_t rows = dense ? 1 : g_.kernel[1], columns = g_.taps() / rows;
    const kernels::Segment whole{0, 0, static_cast<int32_t>(columns)};
    for (int64_t r = 0; r < rows; ++r) {
      weight_result_.Store(channel * strides[0] + r * strides[3], &whole, 1, strides[4], scratch.weights + r * columns);
    }
  }

  // The gradients of a channel's weights from a block of images.
  void SumBlock(int64_t channel, int64_t block, const Scratch& scratch, float* sums) const {
    const kernels::ToeplitzKernels& kernels = kernels::Toeplitz();
    const int64_t row = Images(block) * s_.lanes_;
    Load(output_, g_.output_size, channel, block, scratch.line, scratch.output);
    Load(input_, g_.input_size, channel, block, scratch.line, scratch.input);
    std::memset(sums, 0, static_cast<size_t>(s_.weight_floats_) * sizeof(float));
    for (int64_t k = 0; k < g_.kernel[1]; ++k) {
      const Rows rows = RowsUnder(k);
      if (rows.count <= 0) continue;
      kernels::ToeplitzSumsCall call{};
      call.a = scratch.output + rows.first * row;
      call.b = scratch.input + (rows.first + rows.shift) * row;
      call.rows = rows.count * Images(block);
      call.width = g_.input_size[2];
      call.sums = sums + k * g_.kernel[2] + g_.pad_begin[2] - (g_.output_size[2] - 1);
      kernels.sums[g_.output_size[2]](call);
    }
  }

  const ToeplitzStep& s_;
  const Geometry& g_;
  const ConvProblem& p_;
  plan::Shares scratch_;
  LineReader weight_;
  sheets::PlaneReader input_, output_;
  LineWriter weight_result_;
  sheets::PlaneWriter result_;
};

void ToeplitzStep::Run(const ConvProblem& problem, const Buffers& buffers, const plan::WorkspaceLedger& ledger,
                       void* workspace) const noexcept {
  ToeplitzRun(*this, problem, buffers, ledger.FetchEach(workspace, scratch_handle_)).Run();
}

}  // namespace canopy::conv::toeplitz
