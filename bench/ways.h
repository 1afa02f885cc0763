// SPDX-License-Identifier: Apache-2.0
// Which ways of a peer are worth timing: all of them at first, then those that may yet be the best of their family.
#ifndef CANOPY_BENCH_WAYS_H_
#define CANOPY_BENCH_WAYS_H_

#include <map>
#include <string>
#include <vector>

namespace canopy::bench {

using Medians = std::map<std::string, double>;  // seconds by way

// "direct" or "winograd", behind "f32-" where the way converts to FP32 tensors and back. Of "X+Y" the less plain one's.
std::string FamilyOf(const std::string& way);

// Ways within `slack` times the fastest of their family.
std::vector<std::string> Promising(const Medians& medians, double slack);

// Ways of a whole call, from those of its two parts: what is fastest alone and together, for each family and over all.
// Either may be empty where the call does not ask for it.
std::vector<std::string> Combine(const Medians& data, const Medians& weights);

}  // namespace canopy::bench

#endif  // CANOPY_BENCH_WAYS_H_
