// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/data_kernels.h"

#include <cstring>

namespace canopy::conv::winograd {
namespace {

constexpr int64_t kMostTaps = 16;  // of a term

}  // namespace

void DataKernels::MakeChunk(int64_t unit, int64_t source, const DataScratch& scratch, float* to) const {
  Pack(unit, source, scratch, scratch.weights);
  Transform(unit % s_.panels_.blocks(), source, scratch.weights, source, 0, t_.phases(), to,
            Runs(unit, source + kKernelChunk));
}

packing::WeightBlock DataKernels::Block(int64_t unit, int64_t source) const {
  const int64_t group = unit / s_.panels_.blocks(), panel = unit % s_.panels_.blocks();
  // Those of a group lie along its output channels.
  const int64_t offset = group * p_.geometry.group_output_channels() * p_.weight.strides[0] +
                         source * s_.weight_.source_stride + s_.panels_.first(panel) * s_.weight_.result_stride;
  return {offset, Sources(source), s_.panels_.channels(panel), s_.panels_.tiles(panel, 0).lanes};
}

packing::WeightRuns DataKernels::Runs(int64_t unit, int64_t source) const {
  if (source >= s_.source_channels_) {
    ++unit;
    source = 0;
  }
  if (unit >= s_.units(p_.geometry)) return {};
  return packing::WeightRuns(s_.weight_, Block(unit, source));
}

void DataKernels::Pack(int64_t unit, int64_t source, const DataScratch& scratch, float* packed) const {
  const packing::WeightBlock block = Block(unit, source);
  const int64_t tap_floats = block.sources * block.lanes;
  // Lanes of no channel are computed too, and must stay finite.
  const int64_t taps = block.results < block.lanes ? 0 : s_.weight_.taps;
  std::memset(packed + taps * tap_floats, 0,
              static_cast<size_t>((s_.weight_.taps + 1 - taps) * tap_floats) * sizeof(float));
  packing::PackWeights(weight_, s_.weight_, block, scratch.lines, scratch.weight_offsets, packed);
}

void DataKernels::Transform(int64_t panel, int64_t source, const float* packed, int64_t row, int64_t first, int64_t end,
                            float* to, packing::WeightRuns next) const {
  const int64_t lanes = s_.panels_.tiles(panel, 0).lanes;
  const int64_t sources = Sources(source), tap_floats = sources * lanes;
  const kernels::WinogradInFn transform = t_.kernel_in();
  const int64_t all = (end - first) * t_.terms() * sources;
  int64_t done = 0;
  for (int64_t phase = first; phase < end; ++phase, to += s_.kernel_floats()) {
    float* rows = to + row * lanes;
    ForEach({t_.axes[0].terms, t_.axes[1].terms, t_.axes[2].terms}, [&](int64_t d, int64_t h, int64_t w) {
      int64_t offsets[kMostTaps];
      lists_.Taps({d, h, w}, t_.PhaseAt(phase), tap_floats, offsets);
      for (int64_t k = 0; k < sources; ++k) {
        transform(packed + k * lanes, offsets, lanes, rows + k * lanes, s_.kernel_step());
        Ask(&next, ++done, all);
      }
      rows += s_.kernel_channels() * lanes;
    });
  }
}

}  // namespace canopy::conv::winograd
