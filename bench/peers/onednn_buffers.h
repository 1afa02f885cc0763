// SPDX-License-Identifier: Apache-2.0
// The tensors in oneDNN's own formats.
#ifndef CANOPY_BENCH_PEERS_ONEDNN_BUFFERS_H_
#define CANOPY_BENCH_PEERS_ONEDNN_BUFFERS_H_

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "bench/bytes.h"

namespace canopy::bench {

// One that plays the same part in the same format is the same for every way:
// ways run one after the other and fill it anew.
class OneDnnBuffers {
 public:
  dnnl::memory Get(const std::string& part, const dnnl::memory::desc& format, const dnnl::engine& engine) {
    for (const Entry& entry : entries_) {
      if (entry.part == part && entry.memory.get_desc() == format) return entry.memory;
    }
    Bytes bytes = AllocateBytes(format.get_size());
    dnnl::memory memory(format, engine, bytes.get());
    entries_.push_back({part, memory, std::move(bytes)});
    return memory;
  }

  void Clear() { entries_.clear(); }

 private:
  struct Entry {
    std::string part;
    dnnl::memory memory;
    Bytes bytes;
  };
  std::vector<Entry> entries_;
};

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_PEERS_ONEDNN_BUFFERS_H_
