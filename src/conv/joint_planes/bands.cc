// SPDX-License-Identifier: Apache-2.0
#include "conv/joint_planes/bands.h"

#include <algorithm>

namespace canopy::conv::joint_planes {

MetRows MetBy(const Band& band, const sheets::Reach& rows) {
  const int64_t exist = rows.Existing(), start = band.first - rows.before;
  const int64_t first = std::clamp<int64_t>(start, 0, exist), end = band.first + band.rows + rows.after;
  return {start, first, std::clamp(end, first, exist), band.first == 0 ? 0 : band.first + rows.after};
}

void SetEdges(const Band& band, const sheets::Reach& rows, const sheets::Reach& columns, int64_t row, int64_t column,
              kernels::JointCall* call) {
  call->above = band.first > 0;
  call->below = band.first + band.rows < rows.positions;
  const MetRows met = MetBy(band, rows);
  const int64_t first = band.first - row;  // the output row that the band's first one meets first
  call->g_top = met.first - first;
  call->g_bottom = met.end - first;
  call->g_counted = met.unread - first;
  call->g_left = column;
  call->g_right = columns.outputs + column;
  call->even_rows = rows.residues[0].kernel == 0;
  call->even_columns = columns.residues[0].kernel == 0;
  call->x_rows = -static_cast<int64_t>(rows.residues.size()) * band.first;
  for (const sheets::Residue& residue : rows.residues) call->x_rows += residue.input;
}

}  // namespace canopy::conv::joint_planes
