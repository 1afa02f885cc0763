// SPDX-License-Identifier: Apache-2.0
#include "conv/implicit_gemm/tensor_lines.h"

#include <cstring>

namespace canopy::conv::implicit_gemm {

void LineReader::Fetch(int64_t offset, const kernels::Segment* segments, int64_t segment_count, int64_t step,
                       int64_t length, float* line) const {
  if (plain_ && step == 1) {
    kernels::Lines().fetch(reinterpret_cast<const float*>(base_) + offset, segments, segment_count, length, line);
    return;
  }
  const int64_t bytes = numerics::ElementBytes(dtype_);
  std::memset(line, 0, static_cast<size_t>(length) * sizeof(float));
  for (int64_t s = 0; s < segment_count; ++s) {
    const kernels::Segment& segment = segments[s];
    const char* from = base_ + (offset + segment.source) * bytes;
    float* to = line + segment.begin;
    if (step == 1) {
      load_row_(from, segment.count, to);
      continue;
    }
    // Collected first, converted together.
    if (dtype_ == numerics::DType::kFloat32) {
      for (int64_t i = 0; i < segment.count; ++i) to[i] = reinterpret_cast<const float*>(from)[i * step];
      if (!plain_) load_row_(to, segment.count, to);
    } else {
      for (int64_t i = 0; i < segment.count; ++i) to[i] = Load(offset + segment.source + i * step);
    }
  }
}

void LineWriter::Store(int64_t offset, const kernels::Segment* segments, int64_t segment_count, int64_t step,
                       const float* line) const {
  const int64_t bytes = numerics::ElementBytes(dtype_);
  for (int64_t s = 0; s < segment_count; ++s) {
    const kernels::Segment& segment = segments[s];
    char* to = base_ + (offset + segment.source) * bytes;
    const float* from = line + segment.begin;
    if (step == 1) {
      store_row_(from, segment.count, to);
      continue;
    }
    for (int64_t i = 0; i < segment.count; ++i) {
      numerics::StoreElement(to + i * step * bytes, dtype_, from[i], saturate_);
    }
  }
}

}  // namespace canopy::conv::implicit_gemm
