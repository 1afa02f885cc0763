// SPDX-License-Identifier: Apache-2.0
// What the bench times: one call of a list, with the name, the type and the class it is reported under.
#ifndef CANOPY_BENCH_BENCH_CASE_H_
#define CANOPY_BENCH_BENCH_CASE_H_

#include <string>
#include <vector>

#include "conv/call_text.h"

namespace canopy::bench {

struct BenchCase {
  std::string list;  // the file it came from
  std::string name;
  std::string type;  // "f32", "hf32", "bf16", ...; "mixed"
  std::string class_name;
  conv::Call call;
  int times = 1;  // equal lines of the list: how often a network has this layer
};

// What is timed of a call: all that it asks for, or one gradient alone.
enum class What { kCall, kData, kWeights, kBias };
inline constexpr What kWhats[] = {What::kCall, What::kData, What::kWeights, What::kBias};
const char* WhatName(What what);
What WhatOfName(const std::string& name);

bool IsTbc(const conv::Call& call);
bool IsBackward(const conv::Call& call);
// Whether the call can be asked for `what` alone: a gradient of its mask, which the TBC operators do not have.
bool Offers(const conv::Call& call, What what);
// The call that asks for `what` alone. REQUIRES: Offers.
conv::Call CallFor(const conv::Call& call, What what);

// "f32" and its siblings, "hf32" for FLOAT tensors multiplied in HF32.
std::string TypeOf(const conv::Call& call);
// Gives every tensor the type. REQUIRES: IsType.
void SetType(const std::string& type, conv::Call* call);
bool IsType(const std::string& type);

// Layers that stand or fall together: "1x1", "3x3", "3x3s2", "asym", "wide" (other kernels), "stem", "dw", "dwlarge",
// "grouped", "dilated", "transp", "3d", "1d", "tbc", "odd", "tiny", "forward".
std::string ClassOf(const conv::Call& call);

// Geometry without what every line of a list has in common: "n8 64>128 56x56 k3x3 s2x2".
std::string ShortName(const conv::Call& call);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_BENCH_CASE_H_
