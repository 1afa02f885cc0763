// SPDX-License-Identifier: Apache-2.0
// Where a long list stands, on standard error: rewritten in place on a terminal, a line now and then elsewhere.
#ifndef CANOPY_TOOLS_PROGRESS_H_
#define CANOPY_TOOLS_PROGRESS_H_

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace canopy::tools {

class Progress {
 public:
  explicit Progress(size_t total) : total_(total), terminal_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() { Clear(); }

  // About to do the next one.
  void Next(const std::string& name, size_t failed) {
    ++done_;
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    if (terminal_) {
      std::fprintf(stderr, "\r\033[K%zu of %zu, %zu failed, %.0f s: %s", done_, total_, failed, seconds,
                   name.substr(0, 60).c_str());
      shown_ = true;
    } else if (seconds > next_line_) {
      std::fprintf(stderr, "%zu of %zu, %zu failed, %.0f s\n", done_, total_, failed, seconds);
      next_line_ = seconds + 15;
    }
  }

  // Makes room for ordinary output.
  void Clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const size_t total_;
  const bool terminal_;
  const Clock::time_point start_ = Clock::now();
  size_t done_ = 0;
  double next_line_ = 15;
  bool shown_ = false;
};

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_PROGRESS_H_
