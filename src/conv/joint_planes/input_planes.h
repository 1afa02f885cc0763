// SPDX-License-Identifier: Apache-2.0
// The input as sheets read it and its gradient as they give it: a sheet for each residue of rows and columns modulo the
// stride.
#ifndef CANOPY_CONV_JOINT_PLANES_INPUT_PLANES_H_
#define CANOPY_CONV_JOINT_PLANES_INPUT_PLANES_H_

#include <cstdint>

#include "conv/joint_planes/bands.h"
#include "conv/problem.h"
#include "conv/sheets/reach.h"
#include "conv/sheets/sheet.h"

namespace canopy::conv::joint_planes {

// In floats.
struct SheetLayout {
  int64_t residue, plane, row;  // from a residue's sheet to the next one's, of a channel, of a row
};

class InputPlanes {
 public:
  // Of some channels that follow one another.
  struct Planes {
    int64_t image, depth, first_channel, channels;
  };

  InputPlanes(const ConvProblem& problem, const Buffers& buffers, const sheets::Reach& rows, const SheetLayout& layout)
      : problem_(problem),
        rows_(rows),
        layout_(layout),
        input_(buffers.input, problem.input, problem.rule),
        result_(buffers.input_result, problem.input_result, problem.rule.saturate) {}

  void TakeFiniteOnly() { input_.TakeFiniteOnly(); }

  // Where the first plane stands.
  const char* Address(const Planes& planes) const {
    return input_.Address(input_.PlaneAt(planes.image, planes.first_channel, planes.depth));
  }
  char* ResultAddress(const Planes& planes) const {
    return result_.Address(result_.PlaneAt(planes.image, planes.first_channel, planes.depth));
  }

  // A band's rows. `line` as for PlaneReader::Load.
  void Load(const Planes& planes, const Band& band, float* line, float* to) const;
  void Store(const Planes& planes, const Band& band, const float* from, float* line) const;

 private:
  sheets::PlanePart PartOf(int64_t residue, const Band& band) const;

  const ConvProblem& problem_;
  const sheets::Reach& rows_;
  SheetLayout layout_;
  sheets::PlaneReader input_;
  sheets::PlaneWriter result_;
};

}  // namespace canopy::conv::joint_planes

#endif  // CANOPY_CONV_JOINT_PLANES_INPUT_PLANES_H_
