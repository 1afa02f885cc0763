// SPDX-License-Identifier: Apache-2.0
// A histogram of errors as a picture: a .png file, written without any library.
#ifndef CANOPY_TOOLS_PICTURE_H_
#define CANOPY_TOOLS_PICTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/compare.h"

namespace canopy::tools {

// Grey values, 0 black to 255 white, row by row from the top.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> pixels;
};

// The file's bytes.
std::string EncodePng(const Picture& picture);

// Bars of the histogram's bins on a logarithmic scale, labelled with their ulps and counts.
Picture DrawHistogram(const Errors& errors, const std::string& title);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_PICTURE_H_
