// SPDX-License-Identifier: Apache-2.0
// Handles that can be checked before they are followed. What a caller holds is a number that looks like a pointer: a
// tag of the table, the generation of a slot, and the slot's index. The tag makes it an address that no process has, so
// an uninitialised variable, a pointer or a handle of another kind never passes; the generation tells a destroyed
// handle from the one that took its slot.
#ifndef CANOPY_ASCENDCL_HANDLE_TABLE_H_
#define CANOPY_ASCENDCL_HANDLE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>

namespace canopy::ascendcl {

// Not thread safe: the owner locks. Objects stay the owner's.
template <typename T>
class HandleTable {
 public:
  static constexpr uint32_t kMaxCapacity = 1U << 22;

  // REQUIRES: tag is neither 0 nor 0xFFFF and differs from that of every other table; 0 < capacity <= kMaxCapacity.
  explicit HandleTable(uint16_t tag, uint32_t capacity = kMaxCapacity) : tag_(tag), capacity_(capacity) {}
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  // The object's handle; nullptr when the table is full. May throw bad_alloc. REQUIRES: object is not nullptr.
  void* Insert(T* object) {
    uint32_t index = first_free_;
    if (index != kNone) {
      first_free_ = slots_[index].next_free;
      if (first_free_ == kNone) last_free_ = kNone;
    } else {
      if (slots_.size() >= capacity_) return nullptr;
      index = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
    }
    Slot& slot = slots_[index];
    slot.object = object;
    ++size_;
    const uint64_t bits = (uint64_t{tag_} << 48) | (uint64_t{slot.generation} << kIndexBits) | index;
    return reinterpret_cast<void*>(bits);
  }

  // nullptr: not a live handle of this table.
  T* Find(const void* handle) const {
    const uint32_t index = IndexOf(handle);
    return index == kNone ? nullptr : slots_[index].object;
  }

  // Ends the handle and gives its object back; nullptr: not a live handle of this table.
  T* Erase(const void* handle) {
    const uint32_t index = IndexOf(handle);
    if (index == kNone) return nullptr;
    Slot& slot = slots_[index];
    T* object = slot.object;
    slot.object = nullptr;
    --size_;
    // A slot whose generations are used up is never used again. The rest queue up, so that a slot rests long.
    if (++slot.generation >> kGenerationBits == 0) {
      slot.next_free = kNone;
      (last_free_ == kNone ? first_free_ : slots_[last_free_].next_free) = index;
      last_free_ = index;
    }
    return object;
  }

  // Index of the slot, unique among live handles. REQUIRES: a live handle.
  static uint32_t IndexBits(const void* handle) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)) & (kMaxCapacity - 1);
  }

  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }

  template <typename Function>
  void ForEach(Function function) const {
    for (const Slot& slot : slots_) {
      if (slot.object != nullptr) function(slot.object);
    }
  }

 private:
  static constexpr int kIndexBits = 22;
  static constexpr int kGenerationBits = 48 - kIndexBits;
  static constexpr uint32_t kNone = ~0U;

  struct Slot {
    T* object = nullptr;
    uint32_t generation = 1;
    uint32_t next_free = kNone;
  };

  uint32_t IndexOf(const void* handle) const {
    const uint64_t bits = reinterpret_cast<uintptr_t>(handle);
    if (bits >> 48 != tag_) return kNone;
    const uint32_t index = IndexBits(handle);
    const uint32_t generation = static_cast<uint32_t>(bits >> kIndexBits) & ((1U << kGenerationBits) - 1);
    if (index >= slots_.size() || slots_[index].object == nullptr || slots_[index].generation != generation) {
      return kNone;
    }
    return index;
  }

  const uint16_t tag_;
  const uint32_t capacity_;
  size_t size_ = 0;
  uint32_t first_free_ = kNone;
  uint32_t last_free_ = kNone;
  std::deque<Slot> slots_;
};

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_HANDLE_TABLE_H_
