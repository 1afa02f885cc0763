// SPDX-License-Identifier: Apache-2.0
#include "nnopbase/handle.h"

namespace canopy::nnopbase {
namespace {

constexpr int kGenerationShift = Ticket::kSlotBits;
constexpr int kKindShift = kGenerationShift + Ticket::kGenerationBits;
constexpr int kMarkShift = kKindShift + 4;
// Neither x86-64 nor AArch64 gives a user-space address this top nibble, and languages that keep handles in signed
// 64-bit numbers see a positive one.
constexpr uint64_t kMark = 0x5;

constexpr int kKinds = 8;
constexpr const char* kNames[kKinds] = {"aclTensor",    "aclScalar",     "aclIntArray",   "aclFloatArray",
                                        "aclBoolArray", "aclTensorList", "aclScalarList", "aclOpExecutor"};
constexpr const char* kDestroyed[kKinds] = {"a destroyed aclTensor",     "a destroyed aclScalar",
                                            "a destroyed aclIntArray",   "a destroyed aclFloatArray",
                                            "a destroyed aclBoolArray",  "a destroyed aclTensorList",
                                            "a destroyed aclScalarList", "a consumed or destroyed aclOpExecutor"};
constexpr const char* kOfKind[kKinds] = {"an aclTensor",    "an aclScalar",     "an aclIntArray",   "an aclFloatArray",
                                         "an aclBoolArray", "an aclTensorList", "an aclScalarList", "an aclOpExecutor"};

constexpr int Row(HandleKind kind) { return static_cast<int>(kind) - 1; }

}  // namespace

const char* KindName(HandleKind kind) { return kNames[Row(kind)]; }

const void* Ticket::Encode() const {
  const uint64_t bits = kMark << kMarkShift | static_cast<uint64_t>(kind) << kKindShift |
                        static_cast<uint64_t>(generation) << kGenerationShift | slot;
  return reinterpret_cast<const void*>(bits);
}

bool Ticket::Decode(const void* handle, Ticket* ticket) {
  const uint64_t bits = reinterpret_cast<uint64_t>(handle);
  const uint64_t kind = bits >> kKindShift & 0xF;
  if (bits >> kMarkShift != kMark || kind < 1 || kind > kKinds) return false;
  ticket->kind = static_cast<HandleKind>(kind);
  ticket->generation = bits >> kGenerationShift & kLastGeneration;
  ticket->slot = bits & (kMaxSlots - 1);
  return true;
}

const char* DescribeUnusable(const void* handle, HandleKind expected) {
  if (handle == nullptr) return "NULL";
  Ticket ticket;
  if (!Ticket::Decode(handle, &ticket)) return "not a handle of this library";
  return ticket.kind == expected ? kDestroyed[Row(expected)] : kOfKind[Row(ticket.kind)];
}

}  // namespace canopy::nnopbase
