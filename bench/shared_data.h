// SPDX-License-Identifier: Apache-2.0
// A call's tensors in memory that several processes see: inputs drawn once, results written by whoever computed them
// last. Nobody is timed on this memory; each implementation copies what it needs.
#ifndef CANOPY_BENCH_SHARED_DATA_H_
#define CANOPY_BENCH_SHARED_DATA_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "conv/call_text.h"
#include "tools/case.h"

namespace canopy::bench {

class SharedData {
 public:
  // Makes and fills it. Throws std::runtime_error where there is no memory.
  SharedData(const conv::Call& call, uint64_t seed);
  // Maps what another process made for the same call.
  SharedData(const conv::Call& call, const std::string& path);
  ~SharedData();
  SharedData(const SharedData&) = delete;
  SharedData& operator=(const SharedData&) = delete;

  // For the other processes, while this one lives.
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }

  // Where a tensor's storage begins in the file; its size. REQUIRES: the call has the tensor.
  uint64_t offset_of(conv::CallTensor tensor) const { return places_[static_cast<int>(tensor)].offset; }
  uint64_t bytes_of(conv::CallTensor tensor) const { return places_[static_cast<int>(tensor)].bytes; }
  char* storage(conv::CallTensor tensor) const { return base_ + offset_of(tensor); }

  // Results become NaN, so that nobody passes with another's.
  void ClearResults();
  // The view's elements.
  std::vector<float> Read(conv::CallTensor tensor) const;

  const tools::Case& as_case() const { return case_; }

 private:
  struct Place {
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  void LayOut();
  void Map(int file);

  const tools::Case case_;
  std::array<Place, conv::kCallTensors> places_;
  uint64_t bytes_ = 0;
  std::string path_;
  int file_ = -1;
  char* base_ = nullptr;
};

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_SHARED_DATA_H_
