// SPDX-License-Identifier: Apache-2.0
// The processor's matrix unit (Intel AMX), which Linux lends to a process that asks for it. Its registers belong to the
// thread that configured them: whoever computes with them gives them back before others run on that thread.
#ifndef CANOPY_BASE_MATRIX_UNIT_H_
#define CANOPY_BASE_MATRIX_UNIT_H_

#include <cstdint>

#include "base/export.h"

namespace canopy::base {

// Whether BF16 tiles may be used. The first call asks the kernel for the whole process; larger signal frames are what
// this costs it.
CANOPY_EXPORT bool MatrixUnit();

// What a thread's tile registers hold, as the processor reads it.
struct alignas(64) MatrixTileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Configures this thread's tiles unless they are so already. REQUIRES: MatrixUnit().
CANOPY_EXPORT void UseMatrixTiles(const MatrixTileShapes& shapes);

// Gives this thread's tiles back, if they were used.
CANOPY_EXPORT void ReleaseMatrixTiles();

}  // namespace canopy::base

#endif  // CANOPY_BASE_MATRIX_UNIT_H_
