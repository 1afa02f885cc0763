// SPDX-License-Identifier: Apache-2.0
// Windows of a group's sources, each a channel and a kernel depth, brought to the points.
#ifndef CANOPY_CONV_ROW_WINOGRAD_WINDOWS_H_
#define CANOPY_CONV_ROW_WINOGRAD_WINDOWS_H_

#include <cstdint>
#include <span>

#include "conv/row_winograd/lines.h"
#include "conv/row_winograd/row_reader.h"
#include "kernels/row_points/contract.h"

namespace canopy::conv::row_winograd {

struct WindowSources {
  int64_t channel;       // of all groups, the group's first
  int64_t first, count;  // sources of the group
};

// Where they go: the first pixel of source `first` + i in the first run to windows + i * floats, each point `step`
// floats behind the one before.
struct WindowRoom {
  float* windows;
  int64_t floats, step;
  float* rows;         // converted
  const float* zeros;  // a row
};

// `row_shift`: from a tile's first row to its window's.
inline void LoadWindows(const RowReader& reader, const WindowSources& sources, const AxisShifts& depths,
                        int64_t row_shift, const Lines& lines, std::span<const SegmentRun> runs,
                        const WindowRoom& room) {
  const kernels::RowsToPointsFn transform = kernels::RowPoints().windows[static_cast<int>(reader.form())];
  kernels::RowsToPoints call{};
  call.tile_rows = lines.tile();
  call.pitch = lines.pitch();
  call.step = room.step;
  call.zeros = room.zeros;
  for (int64_t i = 0; i < sources.count; ++i) {
    const int64_t source = sources.first + i, channel = sources.channel + source / depths.count();
    for (const SegmentRun& run : runs) {
      const int64_t depth = run.depth + depths[source % depths.count()];
      reader.Set(run.image, channel, depth, run.row + row_shift, run.tiles, room.rows, &call);
      call.points = room.windows + i * room.floats + run.position;
      transform(call);
    }
  }
}

}  // namespace canopy::conv::row_winograd

#endif  // CANOPY_CONV_ROW_WINOGRAD_WINDOWS_H_
