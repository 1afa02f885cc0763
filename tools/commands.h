// SPDX-License-Identifier: Apache-2.0
// The command line's commands. Each adds itself to the parser; the one that was called leaves its action.
// Exit codes: 0 all is well, 1 a check failed, 2 the command line or a file cannot be used.
#ifndef CANOPY_TOOLS_COMMANDS_H_
#define CANOPY_TOOLS_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tools/case_list.h"

namespace canopy::tools {

inline constexpr int kPassed = 0;
inline constexpr int kCheckFailed = 1;
inline constexpr int kBadUsage = 2;

using Action = std::function<int()>;

void AddRunCommand(CLI::App* app, Action* action);
void AddCheckCommand(CLI::App* app, Action* action);
void AddExplainCommand(CLI::App* app, Action* action);
void AddInfoCommand(CLI::App* app, Action* action);
void AddBenchCommand(CLI::App* app, Action* action);

struct CompareFilesOptions {
  std::string dtype;  // of raw files; empty: bf16 for u2
  bool hf32 = false;
  int worst = 10;
  std::string csv;
  std::string json;
  std::string plot;  // a .png file for the histogram
};
// Compares ours with golden, two .npy files.
int CompareFiles(const std::string& ours, const std::string& golden, const CompareFilesOptions& options);

// "f32" and its siblings. Throws BadInput.
numerics::DType ParseDType(const std::string& name);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_COMMANDS_H_
