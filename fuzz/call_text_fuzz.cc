// SPDX-License-Identifier: Apache-2.0
// Any text is a call or is refused in words; what is a call has shapes, and its canonical line is a fixed point.
#include <cstdint>
#include <string>
#include <string_view>

#include "conv/call_text.h"
#include "fuzz/fuzz.h"

using canopy::conv::Call;
using canopy::conv::CallTensor;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Call call;
  const canopy::base::Status status = canopy::conv::ParseCall(text, &call);
  if (!status.ok()) {
    CANOPY_PROMISE(status.code() == 161002 && !status.message().empty(), text);
    return 0;
  }
  for (int i = 0; i < canopy::conv::kCallTensors; ++i) {
    const CallTensor tensor = static_cast<CallTensor>(i);
    if (!canopy::conv::CallHasTensor(call, tensor)) continue;
    const std::vector<int64_t> shape = canopy::conv::CallShape(call, tensor);
    CANOPY_PROMISE(shape.size() == canopy::conv::CallStrides(call, tensor).size(), text);
    for (const int64_t extent : shape) CANOPY_PROMISE(extent >= 0, text);
  }
  const std::string line = canopy::conv::FormatCall(call);
  Call again;
  CANOPY_PROMISE(canopy::conv::ParseCall(line, &again).ok(), line);
  CANOPY_PROMISE(again == call, std::string(text) + " became " + line);
  CANOPY_PROMISE(canopy::conv::FormatCall(again) == line, line);
  return 0;
}
