// SPDX-License-Identifier: Apache-2.0
// The bench is a program of its own, because it links the libraries that it compares with.
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include "tools/commands.h"

namespace canopy::tools {
namespace {

int Bench(const std::vector<std::string>& arguments) {
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  const std::filesystem::path folder =
      std::filesystem::path(std::string(self, length < 0 ? 0 : static_cast<size_t>(length))).parent_path();
  const std::string program = (folder / "canopy-bench").string();
  if (!std::filesystem::exists(program)) {
    throw BadInput(program + " is not there; `make bench` builds and runs it, or cmake with -DCANOPY_BENCH=ON");
  }
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  throw BadInput(program + ": " + std::strerror(errno));
}

}  // namespace

void AddBenchCommand(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand("bench", "Time problems, against other libraries too (canopy-bench)");
  command->set_help_flag("");
  command->prefix_command();
  command->callback([command, action] { *action = [command] { return Bench(command->remaining()); }; });
}

}  // namespace canopy::tools
