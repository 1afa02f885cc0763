// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/tiling.h"

namespace canopy::conv::winograd {
namespace {

constexpr int64_t kWindow = 6, kTapChoices[] = {2, 3, 4};
constexpr int64_t kMostStride = 4;
// Tiles that lie in one another: above, their pixels leave the cache.
constexpr int64_t kMostCombs = 512, kMostCombsOfSquares = 16;
// Which axes are transformed, as bits; planes first.
constexpr unsigned kAxisChoices[] = {0b110, 0b101, 0b011, 0b100, 0b010, 0b001};

// Moves the phases where that fits their results better.
void AlignPhases(const Geometry& g, int axis, AxisTiling* along) {
  const int64_t stride = along->phases, pad = g.pad_begin[axis] % stride, results = g.input_size[axis];
  AxisTiling aligned = *along;
  aligned.phase_pad = pad;
  for (int64_t phase = 0; phase < stride; ++phase) {
    const int64_t offsets = base::CeilDiv(along->kernel - (phase + pad) % stride, stride);
    if (offsets + aligned.Lag(phase) > along->taps) return;
  }
  aligned.Fit(base::CeilDiv(results, stride));
  along->Fit(base::CeilDiv(results + pad, stride));
  if (aligned.Products(base::CeilDiv(results, stride)) < along->Products(base::CeilDiv(results + pad, stride))) {
    *along = aligned;
  }
}

// Whether an axis is served by tiles under `taps` kernel offsets at a time.
bool Transform(const Geometry& g, bool forward, int axis, int64_t taps, AxisTiling* along) {
  const int64_t kernel = g.kernel[axis], stride = g.stride[axis];
  along->tile = kWindow - taps + 1;
  along->window = kWindow;
  along->taps = taps;
  if (stride == 1) {
    along->terms = base::CeilDiv(kernel, taps);
    return kernel >= taps && (taps > 2 || kernel == 2);  // more terms of two are never worth it
  }
  (forward ? along->terms : along->phases) = stride;
  if (forward) along->stride = stride;
  if (stride > kMostStride || g.dilation[axis] > 1 || kernel <= stride || kernel > taps * stride) return false;
  if (!forward) AlignPhases(g, axis, along);
  return true;
}

}  // namespace

std::vector<Tiling> Tilings(const Geometry& g, bool forward) {
  std::vector<Tiling> tilings;
  for (const int64_t taps : kTapChoices) {
    for (const unsigned choice : kAxisChoices) {
      Tiling tiling;
      tiling.tile_side = kWindow - taps + 1;
      tiling.taps_side = taps;
      bool serves = true;
      for (int axis = 0; axis < 3; ++axis) {
        AxisTiling& along = tiling.axes[axis];
        along.kernel = g.kernel[axis];
        along.mirrored = !forward;
        along.dilation = g.kernel[axis] > 1 ? g.dilation[axis] : 1;
        if ((choice >> axis & 1) != 0) {
          serves = serves && Transform(g, forward, axis, taps, &along);
          ++tiling.transformed;
        } else {
          along.terms = g.kernel[axis];
          serves = serves && g.stride[axis] == 1;
        }
        serves = serves && along.terms >= 1 && along.terms <= kMostTerms;
      }
      const int64_t most_combs = tiling.transformed > 1 ? kMostCombsOfSquares : kMostCombs;
      serves = serves && tiling.terms() <= kMostTerms && tiling.combs() <= most_combs;
      if (serves) tilings.push_back(tiling);
    }
  }
  return tilings;
}

}  // namespace canopy::conv::winograd
