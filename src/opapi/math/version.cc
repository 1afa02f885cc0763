// SPDX-License-Identifier: Apache-2.0
// libopapi_math.so exists because builds name it; Canopy has no operator for it.
#include "base/export.h"

extern "C" CANOPY_EXPORT const char* CanopyOpapiMathVersion() { return CANOPY_VERSION; }
