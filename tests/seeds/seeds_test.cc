// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace canopy {
namespace {

std::vector<std::string> Programs() {
  std::vector<std::string> programs;
  std::istringstream list(CANOPY_SEEDS);
  for (std::string program; std::getline(list, program, ':');) programs.push_back(program);
  return programs;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

struct Outcome {
  std::string output;
  int status = -1;  // as wait() gives it
};

Outcome Execute(const std::string& program) {
  Outcome outcome;
  FILE* pipe = popen(("timeout 60 '" + program + "' 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) outcome.output.append(buffer, n);
  outcome.status = pclose(pipe);
  return outcome;
}

std::string Lines(const std::string& name, int count, const std::string& value) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += name + "[" + std::to_string(i) + "] is: " + value + "\n";
  return lines;
}

// All that a program prints, from the worked points of the operators' contracts.
std::string Expected(const std::string& name) {
  if (name.find("conv_tbc_backward") != std::string::npos) {
    return Lines("gradInputResult", 10, "2.000000") + Lines("gradWeightResult", 4, "5.000000") +
           Lines("gradBiasResult", 2, "5.000000");
  }
  return Lines("gradInputResult", 196, "2.000000") + Lines("gradWeightResult", 4, "98.000000") +
         Lines("gradBiasResult", 2, "98.000000");
}

class SeedsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (Programs().empty()) GTEST_SKIP() << "../shared/seeds/programs is absent";
  }
};

TEST_F(SeedsTest, PrintTheKnownResults) {
  for (const std::string& program : Programs()) {
    const Outcome outcome = Execute(program);
    EXPECT_TRUE(WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 0) << program;
    EXPECT_EQ(outcome.output, Expected(BaseName(program))) << program;
  }
}

// The programs' error path destroys a stream that never was, resets and finalises twice, and frees afterwards.
TEST_F(SeedsTest, EndInAnErrorWhenTheChipIsUnknown) {
  ASSERT_EQ(setenv("CANOPY_SOC", "nonsense", 1), 0);
  for (const std::string& program : Programs()) {
    const Outcome outcome = Execute(program);
    ASSERT_TRUE(WIFEXITED(outcome.status)) << program;
    // The low byte of aclInit's code, which main returns; 124 would be a hang, 139 a crash.
    EXPECT_EQ(WEXITSTATUS(outcome.status), 507008 & 0xFF) << program;
    EXPECT_EQ(outcome.output.find("aclInit failed. ERROR: 507008\n"), 0u) << outcome.output;
  }
  unsetenv("CANOPY_SOC");
}

}  // namespace
}  // namespace canopy
