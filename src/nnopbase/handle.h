// SPDX-License-Identifier: Apache-2.0
// What a caller's handle is: not an address but a ticket, so that no handle, however stale or foreign, is ever
// dereferenced. From the top: 4 bits that no user-space address has, 4 bits kind, 28 bits generation, 28 bits slot.
#ifndef CANOPY_NNOPBASE_HANDLE_H_
#define CANOPY_NNOPBASE_HANDLE_H_

#include <cstdint>

#include "aclnn/acl_meta.h"

namespace canopy::nnopbase {

enum class HandleKind : uint8_t {
  kTensor = 1,
  kScalar,
  kIntArray,
  kFloatArray,
  kBoolArray,
  kTensorList,
  kScalarList,
  kExecutor,
};

// "aclTensor" and so on.
const char* KindName(HandleKind kind);

struct Ticket {
  static constexpr int kSlotBits = 28;
  static constexpr int kGenerationBits = 28;
  static constexpr uint32_t kMaxSlots = 1u << kSlotBits;
  static constexpr uint32_t kLastGeneration = (1u << kGenerationBits) - 1;

  HandleKind kind;
  uint32_t generation;
  uint32_t slot;

  const void* Encode() const;
  // False: the value never was a handle of this library.
  static bool Decode(const void* handle, Ticket* ticket);
};

// For messages: what `handle` is, given that it is no living handle of `expected`: "NULL", "a destroyed aclTensor", "an
// aclIntArray", "not a handle of this library".
const char* DescribeUnusable(const void* handle, HandleKind expected);

}  // namespace canopy::nnopbase

#endif  // CANOPY_NNOPBASE_HANDLE_H_
