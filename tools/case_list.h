// SPDX-License-Identifier: Apache-2.0
// Reads lists of cases: text lines, or JSON lines of case tables, network lists and performance lists. Which of them a
// line is shows in the line itself.
#ifndef CANOPY_TOOLS_CASE_LIST_H_
#define CANOPY_TOOLS_CASE_LIST_H_

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/case.h"

namespace canopy::tools {

// A file or an argument that cannot be used; the text says where and why.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What lines of networks and performance cases leave open.
struct Overrides {
  std::optional<numerics::DType> dtype;
  std::optional<std::array<bool, 3>> mask;
  std::optional<int> math;
};

// `name`, where it is one that CANOPY_SOC takes; else throws BadInput, which names `argument`.
std::string CheckedSoc(const std::string& argument, const std::string& name);

// One line of text: a call, and the words that lists add (docs/problem-text.md).
Case ReadTextLine(const std::string& line, const Overrides& overrides);

// One line of JSON.
Case ReadJsonLine(const std::string& line, const Overrides& overrides);

// A whole file. Throws BadInput with the file's name and the line's number.
std::vector<Case> ReadCaseList(const std::string& path, const Overrides& overrides);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_CASE_LIST_H_
