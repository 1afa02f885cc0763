// SPDX-License-Identifier: Apache-2.0
// Any line of a list, text or JSON, is a case or is refused with BadInput; nothing else is thrown, and what is a case
// has a shape for every tensor that it passes.
#include <cstdint>
#include <string>

#include "fuzz/fuzz.h"
#include "tools/case_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string line(reinterpret_cast<const char*>(data), size);
  for (const bool json : {false, true}) {
    try {
      const canopy::tools::Case read =
          json ? canopy::tools::ReadJsonLine(line, {}) : canopy::tools::ReadTextLine(line, {});
      for (const canopy::tools::TensorSpec& spec : read.tensors) {
        CANOPY_PROMISE(!spec.present || spec.strides.empty() || spec.strides.size() == spec.shape.size(), line);
      }
    } catch (const canopy::tools::BadInput& refusal) {
      CANOPY_PROMISE(refusal.what()[0] != '\0', line);
    }
  }
  return 0;
}
