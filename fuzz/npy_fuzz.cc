// SPDX-License-Identifier: Apache-2.0
// Any file is an array or is refused with BadInput; an array has as many bytes as its shape says.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "fuzz/fuzz.h"
#include "tools/case_list.h"
#include "tools/npy.h"

namespace {

const std::string& Path() {
  static const std::string path = "/tmp/npy_fuzz." + std::to_string(getpid());
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FILE* file = std::fopen(Path().c_str(), "wb");
  CANOPY_PROMISE(file != nullptr && std::fwrite(data, 1, size, file) == size && std::fclose(file) == 0, Path());
  try {
    const canopy::tools::NpyArray array = canopy::tools::ReadNpy(Path());
    const int64_t bytes = canopy::tools::Volume(array.shape) * array.item_bytes();
    CANOPY_PROMISE(bytes == static_cast<int64_t>(array.data.size()), array.type);
  } catch (const canopy::tools::BadInput& refusal) {
    CANOPY_PROMISE(refusal.what()[0] != '\0', "");
  }
  std::remove(Path().c_str());
  return 0;
}
