// SPDX-License-Identifier: Apache-2.0
#include "kernels/streams.h"

#include <hwy/cache_control.h>

namespace canopy::kernels {

void FinishStreams() { hwy::FlushStream(); }

}  // namespace canopy::kernels
