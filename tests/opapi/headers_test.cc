// SPDX-License-Identifier: Apache-2.0
// The operators' headers against their list and their copies.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace canopy::tests {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(CANOPY_INCLUDE "/aclnnop/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(HeadersTest, Level2HoldsTheSameHeaders) {
  for (const char* name : {"aclnn_convolution.h", "aclnn_convolution_backward.h", "aclnn_util.h"}) {
    const std::string text = Read(name);
    EXPECT_FALSE(text.empty()) << name;
    EXPECT_EQ(Read(std::string("level2/") + name), text) << name;
  }
}

TEST(HeadersTest, EveryOperatorIsDeclaredInItsHeaderWithBothPhases) {
  struct {
    const char* name;
    const char* header;
  } const kOperators[] = {
#define CANOPY_OPERATOR(folder, name, header, text) {#name, header},
#include "opapi/operators.inc"
#undef CANOPY_OPERATOR
  };
  for (const auto& op : kOperators) {
    const std::string text = Read(op.header);
    for (const char* phase : {"GetWorkspaceSize(", "("}) {
      const std::string opening = std::string("ACLNN_API aclnnStatus ") + op.name + phase;
      const size_t begin = text.find(opening);
      ASSERT_NE(begin, std::string::npos) << opening;
      // Programs parse prototypes by pattern: no parenthesis may stand within a parameter list.
      const size_t end = text.find_first_of("()", begin + opening.size());
      EXPECT_EQ(text.substr(end, 2), ");") << opening;
    }
  }
}

}  // namespace
}  // namespace canopy::tests
