// SPDX-License-Identifier: Apache-2.0
// The output's gradient as sheets read it: multiplicands, and, for the bias gradient, what they were before they were
// rounded.
#ifndef CANOPY_CONV_JOINT_PLANES_OUTPUT_PLANES_H_
#define CANOPY_CONV_JOINT_PLANES_OUTPUT_PLANES_H_

#include <cstdint>

#include "conv/problem.h"
#include "conv/sheets/sheet.h"

namespace canopy::conv::joint_planes {

class OutputPlanes {
 public:
  OutputPlanes(const void* base, const ConvProblem& problem)
      : problem_(problem),
        rounded_(base, problem.output, problem.rule),
        unrounded_(base, problem.output, {}),
        rounds_(problem.rule.input_rounding != numerics::InputRounding::kNone) {}

  void TakeFiniteOnly() { rounded_.TakeFiniteOnly(); }
  bool rounds() const { return rounds_; }

  const char* Address(int64_t image, int64_t channel, int64_t depth) const {
    return rounded_.Address(rounded_.PlaneAt(image, channel, depth));
  }

  // Rows [first, end) of the planes of some channels that follow one another.
  struct Rows {
    int64_t image, first_channel, channels, depth, first, end;
  };
  // The first `columns` of each row. Rows begin `pitch` floats apart in `to`, and planes `plane_pitch`; what lies
  // behind a row up to a vector's end is overwritten, too. `line` as for PlaneReader::Load.
  void Load(const Rows& rows, int64_t columns, int64_t pitch, int64_t plane_pitch, float* line, float* to) const;
  // Whole rows of one channel. REQUIRES: plain FP32.
  float SumUnrounded(const Rows& rows) const;

 private:
  const ConvProblem& problem_;
  sheets::PlaneReader rounded_, unrounded_;
  bool rounds_;
};

}  // namespace canopy::conv::joint_planes

#endif  // CANOPY_CONV_JOINT_PLANES_OUTPUT_PLANES_H_
