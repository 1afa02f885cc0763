// SPDX-License-Identifier: Apache-2.0
// Runs one case and holds it against the oracle.
#ifndef CANOPY_TOOLS_CHECK_CASE_H_
#define CANOPY_TOOLS_CHECK_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/compare.h"
#include "tools/runner.h"

namespace canopy::tools {

struct CheckOptions {
  bool full = false;         // whole outputs, whatever they cost
  double whole_flops = 1e9;  // outputs of calls up to this are compared whole
  int samples = 500;         // at least, beyond it; corners and edges come on top
  uint64_t seed = 1;
  bool integers = false;       // small whole numbers in place of the case's data: results must be exact
  bool direct = false;         // every algorithm is direct: the tighter gate
  bool odd_workspace = false;  // see LaunchOptions
  int worst = 5;
};

struct OutputReport {
  CallTensor output;
  aclDataType dtype;
  Extents shape;
  bool sampled = false;
  bool compared = true;  // false: the case asks nothing of its numbers
  Errors errors;
  std::vector<std::string> faults;
};

struct CaseReport {
  int status = 0;  // of phase 1, or of phase 2 where that failed
  std::string message;
  uint64_t workspace_bytes = 0;
  double seconds = 0;
  double flops = 0;
  std::vector<OutputReport> outputs;
  std::vector<std::string> faults;  // of the call as a whole

  bool passed() const;
};

// Throws RuntimeFailure.
CaseReport CheckCase(const Case& a_case, const Runtime& runtime, const CheckOptions& options);

// Which elements of a tensor to look at: corners, edges and a seeded choice; sorted, each once. All where that is
// fewer.
std::vector<int64_t> ChooseElements(const Extents& shape, int samples, uint64_t key);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_CHECK_CASE_H_
