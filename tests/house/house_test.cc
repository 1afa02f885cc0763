// SPDX-License-Identifier: Apache-2.0
// Reads the sources and holds them to the rules of the house: who may include whom, how long a file may be, and the
// licence tag that heads it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = CANOPY_SOURCE_DIR;

std::vector<fs::path> SourcesUnder(const std::vector<std::string>& folders) {
  std::vector<fs::path> sources;
  for (const std::string& folder : folders) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string ending = entry.path().extension();
      if (ending == ".h" || ending == ".cc" || ending == ".c" || ending == ".inc") sources.push_back(entry.path());
    }
  }
  return sources;
}

std::vector<std::string> Lines(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The first folder of a quoted include, empty for others.
std::string IncludedFolder(const std::string& line) {
  const std::string start = "#include \"";
  if (line.rfind(start, 0) != 0) return "";
  const size_t slash = line.find('/', start.size());
  return slash == std::string::npos ? "" : line.substr(start.size(), slash - start.size());
}

TEST(HouseTest, AFolderIncludesOnlyWhatStandsBelowIt) {
  const std::set<std::string> engine = {"conv", "exec", "plan", "kernels", "numerics", "base"};
  const std::map<std::string, std::set<std::string>> allowed = {
      {"base", {"base"}},
      {"product", {"product", "base"}},
      {"ascendcl", {"ascendcl", "product", "base", "acl"}},
      {"nnopbase", {"nnopbase", "ascendcl", "base", "acl", "aclnn", "aclnnop", "opdev"}},
      {"numerics", {"numerics", "base"}},
      {"kernels", {"kernels", "numerics", "base"}},
      {"plan", {"plan", "kernels", "numerics", "base"}},
      {"exec", {"exec", "plan", "kernels", "numerics", "base"}},
      {"conv", engine},
      {"opapi",
       {"opapi", "conv", "exec", "plan", "kernels", "numerics", "base", "nnopbase", "ascendcl", "product", "acl",
        "aclnn", "aclnnop", "opdev"}},
  };
  int read = 0;
  for (const fs::path& path : SourcesUnder({"src"})) {
    const std::string folder = *fs::relative(path, kRoot / "src").begin();
    ASSERT_TRUE(allowed.count(folder)) << folder << " is no floor of the house";
    for (const std::string& line : Lines(path)) {
      const std::string included = IncludedFolder(line);
      if (!included.empty()) {
        EXPECT_TRUE(allowed.at(folder).count(included)) << path << ": " << line;
      }
    }
    ++read;
  }
  EXPECT_GT(read, 50);
}

TEST(HouseTest, AFileHoldsOneIdea) {
  for (const fs::path& path : SourcesUnder({"include", "src", "tools", "tests", "examples", "bench", "fuzz"})) {
    // A SIMD body may be longer; the runtime's header is a list of prototypes.
    const bool body = path.filename().string().find("-inl.h") != std::string::npos;
    const bool list = path.filename() == "acl_rt.h";
    const size_t most = body ? 800 : list ? 1200 : 400;
    EXPECT_LE(Lines(path).size(), most) << path;
  }
}

// kernels/ask.h says why. Kernels' bodies store what they compute, so that nothing drops them.
TEST(HouseTest, MemoryIsAskedForByWhatIsNotDropped) {
  int read = 0;
  for (const fs::path& path : SourcesUnder({"src"})) {
    const std::string name = path.filename().string();
    if (name == "ask.h" || name.find("-inl.h") != std::string::npos) continue;
    for (const std::string& line : Lines(path)) {
      EXPECT_EQ(line.find("__builtin_prefetch"), std::string::npos) << path << ": " << line;
    }
    ++read;
  }
  EXPECT_GT(read, 50);
}

TEST(HouseTest, AFileSaysItsLicenceFirst) {
  for (const fs::path& path : SourcesUnder({"include", "src", "tools", "tests", "examples", "bench", "fuzz"})) {
    const std::vector<std::string> lines = Lines(path);
    ASSERT_FALSE(lines.empty()) << path;
    EXPECT_NE(lines[0].find("SPDX-License-Identifier: Apache-2.0"), std::string::npos) << path;
  }
}

}  // namespace
