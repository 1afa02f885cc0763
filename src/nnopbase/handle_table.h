// SPDX-License-Identifier: Apache-2.0
// Where the objects behind handles live: slots that are reused but never freed, each with the generation of the handle
// it answers to. A lookup compares generations before it touches the object, and objects are read and moved under
// their slot's lock, so that even threads that race to destroy what others use get an error and nothing worse.
//
// Slots lie in chunks that double in size; a free slot waits in a lock-free stack. A slot whose generations are used
// up is retired, hence no two handles of a process are ever equal.
#ifndef CANOPY_NNOPBASE_HANDLE_TABLE_H_
#define CANOPY_NNOPBASE_HANDLE_TABLE_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "nnopbase/handle.h"
#include "nnopbase/spin_lock.h"

namespace canopy::nnopbase {

// `Object` is default constructible and moves without throwing. Tables have static storage and are never destroyed:
// threads may use handles while the process exits.
template <typename Handle, typename Object, HandleKind kKind>
class HandleTable {
 public:
  static constexpr HandleKind kind = kKind;

  constexpr HandleTable() = default;
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  // nullptr: no memory for another slot.
  Handle* Insert(Object&& object) noexcept {
    uint32_t index = 0;
    if (!PopFree(&index) && !TakeFresh(&index)) return nullptr;
    Slot& slot = At(index);
    const std::lock_guard<SpinLock> guard(slot.lock);
    slot.object = std::move(object);
    slot.live = true;
    const Ticket ticket{kKind, slot.generation, index};
    return static_cast<Handle*>(const_cast<void*>(ticket.Encode()));
  }

  // Calls use(Object&) under the slot's lock. False, without the call: not a living handle of this kind.
  template <typename Use>
  bool Visit(const Handle* handle, Use&& use) noexcept {
    Slot* slot = nullptr;
    uint32_t generation = 0;
    if (!Find(handle, &slot, &generation)) return false;
    const std::lock_guard<SpinLock> guard(slot->lock);
    if (!slot->live || slot->generation != generation) return false;
    use(slot->object);
    return true;
  }

  bool Contains(const Handle* handle) noexcept {
    return Visit(handle, [](Object&) {});
  }

  // Ends the handle's life and hands out its object. False: not a living handle of this kind.
  bool Take(const Handle* handle, Object* object) noexcept {
    Slot* slot = nullptr;
    uint32_t generation = 0;
    if (!Find(handle, &slot, &generation)) return false;
    {
      const std::lock_guard<SpinLock> guard(slot->lock);
      if (!slot->live || slot->generation != generation) return false;
      *object = std::move(slot->object);
      slot->live = false;
      if (slot->generation == Ticket::kLastGeneration) return true;
      ++slot->generation;
    }
    Ticket ticket;
    Ticket::Decode(handle, &ticket);
    PushFree(ticket.slot);
    return true;
  }

 private:
  struct Slot {
    SpinLock lock;
    bool live = false;
    uint32_t generation = 1;
    std::atomic<uint32_t> next_free{0};
    Object object{};
  };

  static constexpr uint32_t kFirstChunk = 64;
  static constexpr int kChunks = Ticket::kSlotBits - std::bit_width(kFirstChunk) + 2;

  // Chunk c begins at slot kFirstChunk * (2^c - 1).
  static constexpr int ChunkOf(uint32_t index) { return std::bit_width(index / kFirstChunk + 1) - 1; }
  static constexpr uint32_t ChunkBegin(int chunk) { return kFirstChunk * ((1u << chunk) - 1); }

  // REQUIRES: index < used_.
  Slot& At(uint32_t index) {
    const int chunk = ChunkOf(index);
    return chunks_[chunk].load(std::memory_order_acquire)[index - ChunkBegin(chunk)];
  }

  bool Find(const Handle* handle, Slot** slot, uint32_t* generation) {
    Ticket ticket;
    if (!Ticket::Decode(handle, &ticket) || ticket.kind != kKind) return false;
    if (ticket.slot >= used_.load(std::memory_order_acquire)) return false;
    *slot = &At(ticket.slot);
    *generation = ticket.generation;
    return true;
  }

  // The stack's head carries its top slot plus one (0: empty) below a counter that changes with every push and pop:
  // without the counter a thread that was held up between reading `next_free` and exchanging the head could take the
  // head for unchanged after others popped and pushed the same slot.
  static constexpr uint64_t Head(uint64_t counter, uint32_t top) { return counter << 32 | top; }

  bool PopFree(uint32_t* index) {
    uint64_t head = free_.load(std::memory_order_acquire);
    for (;;) {
      const uint32_t top = static_cast<uint32_t>(head);
      if (top == 0) return false;
      const uint32_t next = At(top - 1).next_free.load(std::memory_order_relaxed);
      if (free_.compare_exchange_weak(head, Head((head >> 32) + 1, next), std::memory_order_acquire)) {
        *index = top - 1;
        return true;
      }
    }
  }

  void PushFree(uint32_t index) {
    Slot& slot = At(index);
    uint64_t head = free_.load(std::memory_order_relaxed);
    do {
      slot.next_free.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
    } while (!free_.compare_exchange_weak(head, Head((head >> 32) + 1, index + 1), std::memory_order_acq_rel));
  }

  // A slot that was never used. Chunks are raw memory, so that a large one costs what is used of it.
  bool TakeFresh(uint32_t* index) {
    const std::lock_guard<SpinLock> guard(growth_);
    const uint32_t fresh = used_.load(std::memory_order_relaxed);
    if (fresh == Ticket::kMaxSlots) return false;
    const int chunk = ChunkOf(fresh);
    Slot* slots = chunks_[chunk].load(std::memory_order_relaxed);
    if (slots == nullptr) {
      const size_t bytes = (size_t{kFirstChunk} << chunk) * sizeof(Slot);
      slots = static_cast<Slot*>(::operator new(bytes, std::nothrow));
      if (slots == nullptr) return false;
      chunks_[chunk].store(slots, std::memory_order_release);
    }
    new (&slots[fresh - ChunkBegin(chunk)]) Slot();
    used_.store(fresh + 1, std::memory_order_release);
    *index = fresh;
    return true;
  }

  std::array<std::atomic<Slot*>, kChunks> chunks_{};
  std::atomic<uint64_t> free_{0};
  std::atomic<uint32_t> used_{0};
  SpinLock growth_;
};

}  // namespace canopy::nnopbase

#endif  // CANOPY_NNOPBASE_HANDLE_TABLE_H_
