// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files, format versions 1.0 to 3.0, little-endian.
//
// f4 and f2 are FLOAT and FLOAT16. NumPy has no BF16: u2 holds its raw bits (array.view(numpy.uint16) of most
// frameworks' tensors). u1 holds the raw codes of an 8-bit type. f8 is read, for golden values, and never written.
#ifndef CANOPY_TOOLS_NPY_H_
#define CANOPY_TOOLS_NPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/case.h"

namespace canopy::tools {

struct NpyArray {
  std::string type;  // "f4", "f2", "u2", "u1", "f8"
  Extents shape;
  std::vector<unsigned char> data;  // packed, last axis innermost, whatever order the file had

  int64_t item_bytes() const { return type[1] - '0'; }
};

// Throws BadInput, naming the file and what is wrong with it.
NpyArray ReadNpy(const std::string& path);
void WriteNpy(const std::string& path, const NpyArray& array);

// The file type that holds a tensor type: "f4", "f2", "u2" or "u1".
const char* NpyType(numerics::DType dtype);
// Elements as FP32, or as double for f8. `dtype` says what raw bits mean. REQUIRES: the types fit.
std::vector<double> NpyValues(const NpyArray& array, numerics::DType dtype);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_NPY_H_
