// SPDX-License-Identifier: Apache-2.0
// The bits of every result are the same for any number of threads, any stream, any alignment, any run and whatever the
// calling thread's rounding direction is. The thread
// count is read once a process, so each count is a process of its own (CANOPY_SWEEP_CHECKSUMS, see checksums.cc).
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "tests/sweep/options.h"

namespace canopy::sweep {
namespace {

struct Printed {
  std::vector<std::string> lines;
  int exit_code = -1;
};

Printed RunProcess(const std::string& environment, int64_t count, const std::string& arguments) {
  const std::string command = environment + " " + CANOPY_SWEEP_CHECKSUMS + " " + std::to_string(Seed() + 3000000) +
                              " " + std::to_string(count) + " " + arguments;
  Printed printed;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return printed;
  std::string line;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    if (c != '\n') {
      line += static_cast<char>(c);
    } else {
      printed.lines.push_back(std::move(line));
      line.clear();
    }
  }
  const int status = pclose(pipe);
  printed.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return printed;
}

// Of one problem, whose arguments they are, with several numbers of threads.
void ExpectSameBits(const std::string& environment, const std::string& arguments) {
  const Printed one = RunProcess(environment + "1", 0, arguments);
  ASSERT_EQ(one.exit_code, 0) << environment << arguments;
  ASSERT_EQ(one.lines.size(), 1u) << environment << arguments;
  for (const char* threads : {"2", "3", "7"}) {
    EXPECT_EQ(RunProcess(environment + threads, 0, arguments).lines, one.lines)
        << arguments << ", threads: " << threads;
  }
}

TEST(Determinism, ThreadsStreamsAlignmentsRunsAndTheCallersRoundingDoNotChangeABit) {
  const int64_t count = Count(120);
  const Printed one = RunProcess("CANOPY_NUM_THREADS=1", count, "0");
  ASSERT_EQ(one.exit_code, 0) << (one.lines.empty() ? "" : one.lines.back());
  ASSERT_GT(static_cast<int64_t>(one.lines.size()), count);  // the named problems follow
  for (const std::string& line : one.lines) {
    EXPECT_EQ(std::min(line.find(" seed "), line.find(" named ")), 16u) << "two runs differ: " << line;
  }
  struct Variation {
    const char* environment;
    const char* arguments;
  };
  for (const Variation& variation : {Variation{"CANOPY_NUM_THREADS=2", "0 upward"},
                                     Variation{"CANOPY_NUM_THREADS=3", "5"}, Variation{"CANOPY_NUM_THREADS=7", "1"}}) {
    const Printed other = RunProcess(variation.environment, count, variation.arguments);
    ASSERT_EQ(other.exit_code, 0) << variation.environment;
    ASSERT_EQ(other.lines.size(), one.lines.size()) << variation.environment;
    for (size_t i = 0; i < one.lines.size(); ++i) EXPECT_EQ(other.lines[i], one.lines[i]) << variation.environment;
  }
}

// What is chosen where memory is far only, for which drawn problems are too small.
TEST(Determinism, ThreadsDoNotChangeABitOfBiasGradientsBesideProducts) {
  struct Forced {
    const char *algorithm, *problem;
  };
  for (const Forced& forced : {Forced{"pointwise", "conv_backward n1 ci256 co512 in14x14 k1"},
                               Forced{"pointwise", "conv_backward n2 ci200 co72 in15x15 k2 s2 transposed"},
                               // Threads would be served best with the other tensor's channels as lanes.
                               Forced{"pointwise", "conv_backward n2 ci400 co48 in12x7 k1"},
                               Forced{"pointwise", "conv_backward n4 ci300 co512 in9x14 k1"},
                               Forced{"winograd", "conv_backward n3 ci96 co200 in30x31 k3x3 p1x1"},
                               Forced{"winograd", "conv_backward n2 ci40 co72 in6x14x14 k3x3x3 p1x1x1"},
                               Forced{"split_winograd", "conv_backward n4 ci64 co96 in300 k3 p1"},
                               Forced{"split_gemm", "conv_backward n2 ci64 co256 in28x28 k1"},
                               Forced{"split_gemm", "conv_backward n2 ci200 co72 in15x15 k2 s2 transposed"}}) {
    const std::string arguments = "0 '" + std::string(forced.problem) + "'";
    const std::string environment = "CANOPY_ALGORITHM=" + std::string(forced.algorithm) + " CANOPY_NUM_THREADS=";
    ExpectSameBits(environment, arguments);
  }
}

// Kernels of squares, of which one thread has room for some only, several for more.
TEST(Determinism, ThreadsDoNotChangeABitWhereTheyHaveRoomForMoreKernels) {
  ExpectSameBits("CANOPY_NUM_THREADS=", "0 'conv_backward n2 ci256 co256 in32x32 k3x3 p1x1 mask100'");
}

}  // namespace
}  // namespace canopy::sweep
