// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>

#include "base/env.h"
#include "base/local_time.h"

namespace canopy::base {
namespace {

constexpr int kMaxText = 1024;

struct LogTarget {
  int threshold = static_cast<int>(LogLevel::kError);
  bool to_stdout = false;
  FILE* file = nullptr;
};

// Plain getenv: EnvInt would log, and the log is what is being set up.
LogTarget OpenTarget() {
  LogTarget target;
  const std::string level = EnvText("ASCEND_GLOBAL_LOG_LEVEL", "3");
  if (level.size() == 1 && level[0] >= '0' && level[0] <= '4') target.threshold = level[0] - '0';
  target.to_stdout = EnvText("ASCEND_LOG_PRINT_TO_STDOUT", EnvText("ASCEND_SLOG_PRINT_TO_STDOUT", "0").c_str()) == "1";
  const std::string folder = EnvText("ASCEND_PROCESS_LOG_PATH", "");
  if (!folder.empty() && !target.to_stdout) {
    mkdir(folder.c_str(), 0755);
    target.file = std::fopen((folder + "/canopy-" + std::to_string(getpid()) + ".log").c_str(), "a");
  }
  return target;
}

// Never destroyed: threads may log while the process exits.
const LogTarget& Target() {
  static const LogTarget* target = new LogTarget(OpenTarget());
  return *target;
}

}  // namespace

bool LogEnabled(LogLevel level) {
  const LogTarget& target = Target();
  return static_cast<int>(level) >= target.threshold && (target.to_stdout || target.file != nullptr);
}

void Log(LogLevel level, const char* format, ...) {
  if (!LogEnabled(level)) return;
  char text[kMaxText];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  static const char* const kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
  const LocalTimeText now(std::time(nullptr));
  const LogTarget& target = Target();
  FILE* out = target.to_stdout ? stdout : target.file;
  std::fprintf(out, "[%s] CANOPY(%d,%ld):%s %s\n", kNames[static_cast<int>(level)], getpid(), syscall(SYS_gettid),
               now.text, text);
  std::fflush(out);
}

int Verbosity() {
  static const int level = static_cast<int>(EnvInt("CANOPY_VERBOSE", 0, 2, 0));
  return level;
}

void VerboseLine(const char* format, ...) {
  char text[4 * kMaxText];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "%s\n", text);
}

}  // namespace canopy::base
