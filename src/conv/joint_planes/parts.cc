// SPDX-License-Identifier: Apache-2.0
#include "conv/joint_planes/parts.h"

#include <algorithm>

namespace canopy::conv::joint_planes {
namespace {

// Moves on by `row` rows and some elements, if there is anything.
template <class T>
void Move(kernels::JointRows<T>* rows, int64_t row, int64_t elements) {
  if (rows->first != nullptr) rows->first += row * rows->row + elements;
}

}  // namespace

int64_t PartRows(int64_t rows, int64_t vectors, int64_t most) {
  return rows * vectors <= kMostTerms ? rows : std::clamp<int64_t>(kMostTerms / std::min(most, vectors), 1, rows);
}

void RunInParts(kernels::JointFn kernel, const kernels::JointCall& whole, const VectorSteps& steps, int64_t most) {
  if (whole.rows * whole.vectors <= kMostTerms) return kernel(whole);
  const int64_t vectors = std::min(most, whole.vectors);
  const int64_t rows = PartRows(whole.rows, whole.vectors, most);
  for (int64_t y = 0; y < whole.rows; y += rows) {
    for (int64_t v = 0; v < whole.vectors; v += vectors) {
      kernels::JointCall part = whole;
      part.rows = std::min(rows, whole.rows - y);
      part.vectors = std::min(vectors, whole.vectors - v);
      if (v + vectors < whole.vectors) part.last_lanes = 0;
      part.g_top -= y;
      part.g_bottom -= y;
      if (y > 0) part.g_counted = std::max<int64_t>(whole.g_counted - y, 0);  // parts before read what is above
      part.g_left -= v * steps.before;
      part.g_right -= v * steps.before;
      Move(&part.g, y, v * steps.g);
      Move(&part.x, y, v * steps.x);
      Move(&part.before, y, v * steps.before);
      Move(&part.result, y, v * steps.result);
      for (kernels::JointAhead& ahead : part.ahead) {
        ahead.from += (y * whole.vectors + v) * ahead.step;
        ahead.next += (y * whole.vectors + v) * ahead.step;
      }
      kernel(part);
    }
  }
}

}  // namespace canopy::conv::joint_planes
