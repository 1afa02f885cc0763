// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace canopy::base {
namespace {

// Each test logs in a fresh process, because the log is set up once.
class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    // The fresh process runs this again, and has to come to the same folder.
    const std::string usual = std::filesystem::temp_directory_path() / ("canopy_log_test_" + std::to_string(getpid()));
    setenv("CANOPY_LOG_TEST_FOLDER", usual.c_str(), /*overwrite=*/0);
    folder_ = std::getenv("CANOPY_LOG_TEST_FOLDER");
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // What the file of a process that logs one line of each level holds.
  std::string FileOf(const char* level, const char* to_stdout = "0") {
    EXPECT_EXIT(
        {
          if (level != nullptr) setenv("ASCEND_GLOBAL_LOG_LEVEL", level, 1);
          setenv("ASCEND_LOG_PRINT_TO_STDOUT", to_stdout, 1);
          setenv("ASCEND_PROCESS_LOG_PATH", folder_.c_str(), 1);
          Log(LogLevel::kDebug, "line of %s", "debug");
          Log(LogLevel::kInfo, "line of %s", "info");
          Log(LogLevel::kWarning, "line of %s", "warning");
          Log(LogLevel::kError, "line of %s", "error");
          std::exit(0);
        },
        testing::ExitedWithCode(0), "");
    std::stringstream text;
    if (!std::filesystem::exists(folder_)) return "";
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      text << std::ifstream(entry.path()).rdbuf();
    }
    std::filesystem::remove_all(folder_);
    return text.str();
  }

  std::filesystem::path folder_;
};

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(LogTest, WritesErrorsOnlyByDefault) {
  const std::string text = FileOf(nullptr);
  EXPECT_TRUE(Has(text, "[ERROR]")) << text;
  EXPECT_TRUE(Has(text, "line of error")) << text;
  EXPECT_FALSE(Has(text, "warning")) << text;
}

TEST_F(LogTest, WritesFromTheLevelAskedFor) {
  EXPECT_TRUE(Has(FileOf("0"), "line of debug"));
  const std::string text = FileOf("1");
  EXPECT_FALSE(Has(text, "line of debug"));
  EXPECT_TRUE(Has(text, "line of info"));
  EXPECT_TRUE(Has(text, "line of warning"));
  EXPECT_EQ(FileOf("4"), "");
  EXPECT_FALSE(Has(FileOf("nonsense"), "warning")) << "the default";
}

TEST_F(LogTest, WritesNoFileWhereStandardOutputIsAskedFor) { EXPECT_EQ(FileOf("0", "1"), ""); }

TEST_F(LogTest, WritesNothingUnasked) {
  EXPECT_EXIT(
      {
        unsetenv("ASCEND_PROCESS_LOG_PATH");
        unsetenv("ASCEND_LOG_PRINT_TO_STDOUT");
        unsetenv("ASCEND_SLOG_PRINT_TO_STDOUT");
        std::exit(LogEnabled(LogLevel::kError) ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(LogTest, TakesTheOldSpellingOfTheSwitch) {
  EXPECT_EXIT(
      {
        unsetenv("ASCEND_LOG_PRINT_TO_STDOUT");
        setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1", 1);
        std::exit(LogEnabled(LogLevel::kError) && !LogEnabled(LogLevel::kInfo) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(LogTest, VerbosityIsOffUnlessAskedFor) {
  EXPECT_EXIT((unsetenv("CANOPY_VERBOSE"), std::exit(Verbosity())), testing::ExitedWithCode(0), "");
  EXPECT_EXIT((setenv("CANOPY_VERBOSE", "2", 1), std::exit(Verbosity())), testing::ExitedWithCode(2), "");
  EXPECT_EXIT((setenv("CANOPY_VERBOSE", "3", 1), std::exit(Verbosity())), testing::ExitedWithCode(0), "");
  EXPECT_EXIT((VerboseLine("number %d", 7), std::exit(0)), testing::ExitedWithCode(0), "number 7");
}

}  // namespace
}  // namespace canopy::base
