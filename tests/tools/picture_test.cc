// SPDX-License-Identifier: Apache-2.0
#include "tools/picture.h"

#include <gtest/gtest.h>

namespace canopy::tools {
namespace {

TEST(Picture, AWhitePointIsThisFile) {
  // As other encoders write it without compression.
  const std::string expected(
      "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\1\0\0\0\1\x08\0\0\0\0\x3a\x7e\x9b\x55"
      "\0\0\0\x0dIDAT\x78\x01\x01\x02\0\xfd\xff\0\xff\x01\x01\x01\0\x0c\xb4\x68\x1d\0\0\0\0IEND\xae\x42\x60\x82",
      70);
  const std::string file = EncodePng({1, 1, {255}});
  EXPECT_EQ(file.substr(0, 33), expected.substr(0, 33));
  EXPECT_EQ(file.substr(file.size() - 12), expected.substr(expected.size() - 12));
  EXPECT_EQ(file.substr(41, 13), std::string("\x78\x01\x01\x02\0\xfd\xff\0\xff\x01\x01\x01\0", 13));
}

TEST(Picture, BarsGrowWithTheirCounts) {
  Errors errors;
  errors.histogram[0] = 1000;
  errors.histogram[3] = 10;
  const Picture picture = DrawHistogram(errors, "title");
  const auto dark = [&](int bin) {
    int count = 0;
    for (int x = 80; x < picture.width; ++x)
      count += picture.pixels[(40 + 32 * bin + 2) * picture.width + x] < 255 ? 1 : 0;
    return count;
  };
  EXPECT_EQ(dark(0), 420);
  EXPECT_GT(dark(3), 100);
  EXPECT_LT(dark(3), 200);
  EXPECT_EQ(dark(5), 0);
}

}  // namespace
}  // namespace canopy::tools
