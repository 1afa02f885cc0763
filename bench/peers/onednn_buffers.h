// SPDX-License-Identifier: Apache-2.0
// Memory for oneDNN, on huge pages where the machine gives them, as Canopy's device memory is.
#ifndef CANOPY_BENCH_PEERS_ONEDNN_BUFFERS_H_
#define CANOPY_BENCH_PEERS_ONEDNN_BUFFERS_H_

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

namespace canopy::bench {

struct FreeMemory {
  void operator()(char* memory) const { std::free(memory); }
};
using OneDnnBytes = std::unique_ptr<char, FreeMemory>;

inline OneDnnBytes AllocateBytes(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t alignment = bytes >= kHugePage ? kHugePage : 64;
  const size_t rounded = (bytes + alignment) / alignment * alignment;
  OneDnnBytes memory(static_cast<char*>(std::aligned_alloc(alignment, rounded)));
  if (memory == nullptr) throw std::bad_alloc();
  if (alignment == kHugePage) madvise(memory.get(), rounded, MADV_HUGEPAGE);
  return memory;
}

// The tensors in primitives' own formats. One that plays the same part in the same format is the same for every way:
// ways run one after the other and fill it anew.
class OneDnnBuffers {
 public:
  dnnl::memory Get(const std::string& part, const dnnl::memory::desc& format, const dnnl::engine& engine) {
    for (const Entry& entry : entries_) {
      if (entry.part == part && entry.memory.get_desc() == format) return entry.memory;
    }
    OneDnnBytes bytes = AllocateBytes(format.get_size());
    dnnl::memory memory(format, engine, bytes.get());
    entries_.push_back({part, memory, std::move(bytes)});
    return memory;
  }

  void Clear() { entries_.clear(); }

 private:
  struct Entry {
    std::string part;
    dnnl::memory memory;
    OneDnnBytes bytes;
  };
  std::vector<Entry> entries_;
};

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_PEERS_ONEDNN_BUFFERS_H_
