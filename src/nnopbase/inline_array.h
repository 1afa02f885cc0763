// SPDX-License-Identifier: Apache-2.0
// An array that keeps up to kInline values in place, so that the handles of ordinary calls cost no allocation.
#ifndef CANOPY_NNOPBASE_INLINE_ARRAY_H_
#define CANOPY_NNOPBASE_INLINE_ARRAY_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>

namespace canopy::nnopbase {

template <typename T, uint64_t kInline>
class InlineArray {
 public:
  uint64_t size() const { return size_; }
  const T* data() const { return heap_ != nullptr ? heap_.get() : inline_.data(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  const T& operator[](uint64_t i) const { return data()[i]; }

  // Room for `size` values in place of the present ones; nullptr and unchanged: no memory.
  T* Reset(uint64_t size) noexcept {
    std::unique_ptr<T[]> heap;
    if (size > kInline) {
      if (size > PTRDIFF_MAX / sizeof(T)) return nullptr;
      heap.reset(new (std::nothrow) T[size]);
      if (heap == nullptr) return nullptr;
    }
    heap_ = std::move(heap);
    size_ = size;
    return heap_ != nullptr ? heap_.get() : inline_.data();
  }

  // REQUIRES: `values` has `size` entries; it may be nullptr when size is 0. False: no memory.
  [[nodiscard]] bool Assign(const T* values, uint64_t size) noexcept {
    T* room = Reset(size);
    if (room == nullptr) return false;
    std::copy_n(values, size, room);
    return true;
  }

 private:
  uint64_t size_ = 0;
  std::array<T, kInline> inline_{};
  std::unique_ptr<T[]> heap_;
};

}  // namespace canopy::nnopbase

#endif  // CANOPY_NNOPBASE_INLINE_ARRAY_H_
