// SPDX-License-Identifier: Apache-2.0
// A folder of a test's own, which goes away with the object, whatever is in it.
#ifndef CANOPY_TESTS_SUPPORT_SCRATCH_FOLDER_H_
#define CANOPY_TESTS_SUPPORT_SCRATCH_FOLDER_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace canopy::testing_support {

class ScratchFolder {
 public:
  ScratchFolder() : path_(testing::TempDir() + "/canopy_XXXXXX") { EXPECT_NE(mkdtemp(path_.data()), nullptr) << path_; }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace canopy::testing_support

#endif  // CANOPY_TESTS_SUPPORT_SCRATCH_FOLDER_H_
