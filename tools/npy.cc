// SPDX-License-Identifier: Apache-2.0
#include "tools/npy.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "numerics/rounding.h"
#include "tools/case_list.h"

namespace canopy::tools {
namespace {

constexpr char kMagic[] = "\x93NUMPY";

[[noreturn]] void Refuse(const std::string& path, const std::string& reason) { throw BadInput(path + ": " + reason); }

// The text of a key of the header, which is a Python dictionary: from behind the colon to the end of its value.
std::string HeaderValue(const std::string& path, const std::string& header, const std::string& key) {
  const size_t at = header.find("'" + key + "'");
  const size_t colon = header.find(':', at);
  if (at == header.npos || colon == header.npos) Refuse(path, "its header has no " + key + ": " + header);
  const size_t begin = header.find_first_not_of(' ', colon + 1);
  const size_t end = begin == header.npos ? begin : header.find_first_of(header[begin] == '(' ? ")" : ",}", begin);
  if (end == header.npos) Refuse(path, "its header breaks off: " + header);
  return header.substr(begin, end - begin);
}

std::string ReadType(const std::string& path, std::string text) {
  if (text.size() >= 2 && (text[0] == '\'' || text[0] == '"')) text = text.substr(1, text.size() - 2);
  for (const char* type : {"f4", "f2", "u2", "u1", "f8"}) {
    if (text == std::string("<") + type || (text == std::string("|") + type && type[1] == '1')) return type;
  }
  // Types that NumPy does not know, as extensions of it write them.
  if (text == "<V2" || text == "|V2") return "u2";
  if (text == "<V1" || text == "|V1") return "u1";
  Refuse(path, "holds elements of type " + text +
                   "; allowed: <f4, <f2, <u2 or V2 (raw BF16), |u1 or V1 (raw 8-bit codes), <f8 (to compare with)");
}

Extents ReadShape(const std::string& path, const std::string& text) {
  Extents shape;
  if (text.empty() || text[0] != '(') Refuse(path, "has the shape " + text);
  const char* at = text.c_str() + 1;  // behind the parenthesis
  while (*at != '\0') {
    char* end = nullptr;
    errno = 0;
    const long long extent = std::strtoll(at, &end, 10);
    if (end == at || errno != 0 || extent < 0) Refuse(path, "has the shape " + text + ")");
    shape.push_back(extent);
    at = end + std::strspn(end, ", ");
  }
  return shape;
}

// First axis innermost to last axis innermost.
std::vector<unsigned char> Transposed(const std::vector<unsigned char>& data, const Extents& shape, int64_t item) {
  std::vector<unsigned char> result(data.size());
  const int64_t count = Volume(shape);
  Extents index(shape.size());
  for (int64_t i = 0; i < count; ++i) {
    int64_t source = 0, step = 1;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      source += index[axis] * step;
      step *= shape[axis];
    }
    std::memcpy(&result[i * item], &data[source * item], item);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

}  // namespace

NpyArray ReadNpy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Refuse(path, std::string("cannot be opened: ") + std::strerror(errno));
  unsigned char start[8] = {};
  file.read(reinterpret_cast<char*>(start), sizeof(start));
  if (!file || std::memcmp(start, kMagic, 6) != 0) Refuse(path, "is no .npy file (its first bytes are not \\x93NUMPY)");
  if (start[6] < 1 || start[6] > 3)
    Refuse(path, "has format version " + std::to_string(start[6]) + "; allowed: 1 to 3");
  unsigned char length_bytes[4] = {};
  file.read(reinterpret_cast<char*>(length_bytes), start[6] == 1 ? 2 : 4);
  const uint32_t length =
      length_bytes[0] | length_bytes[1] << 8 | length_bytes[2] << 16 | uint32_t{length_bytes[3]} << 24;
  if (!file || length > (1 << 20)) Refuse(path, "has a header that is broken");
  std::string header(length, '\0');
  file.read(header.data(), length);
  if (!file) Refuse(path, "ends inside of its header");

  NpyArray array;
  array.type = ReadType(path, HeaderValue(path, header, "descr"));
  array.shape = ReadShape(path, HeaderValue(path, header, "shape"));
  double bytes = static_cast<double>(array.item_bytes());
  for (const int64_t extent : array.shape) bytes *= static_cast<double>(extent);
  if (bytes > 1e12) Refuse(path, "claims to hold more than 10^12 bytes");
  array.data.resize(static_cast<size_t>(bytes));
  file.read(reinterpret_cast<char*>(array.data.data()), static_cast<std::streamsize>(array.data.size()));
  if (static_cast<size_t>(file.gcount()) != array.data.size()) {
    Refuse(path, "ends early: " + std::to_string(file.gcount()) + " of " + std::to_string(array.data.size()) +
                     " bytes of elements");
  }
  if (file.peek() != std::ifstream::traits_type::eof()) Refuse(path, "goes on behind its elements");
  if (HeaderValue(path, header, "fortran_order") == "True") {
    array.data = Transposed(array.data, array.shape, array.item_bytes());
  }
  return array;
}

void WriteNpy(const std::string& path, const NpyArray& array) {
  std::string header = std::string("{'descr': '") + (array.type == "u1" ? "|" : "<") + array.type +
                       "', 'fortran_order': False, 'shape': (";
  for (const int64_t extent : array.shape) header += std::to_string(extent) + ", ";
  if (array.shape.size() > 1) header.resize(header.size() - 2);
  header += "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file.write(kMagic, 6);
  const char version_and_length[] = {1, 0, static_cast<char>(header.size() & 0xFF),
                                     static_cast<char>(header.size() >> 8)};
  file.write(version_and_length, sizeof(version_and_length));
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(reinterpret_cast<const char*>(array.data.data()), static_cast<std::streamsize>(array.data.size()));
  file.close();
  if (!file) Refuse(path, std::string("cannot be written: ") + std::strerror(errno));
}

const char* NpyType(numerics::DType dtype) {
  switch (dtype) {
    case numerics::DType::kFloat32:
      return "f4";
    case numerics::DType::kFloat16:
      return "f2";
    case numerics::DType::kBFloat16:
      return "u2";
    default:
      return "u1";
  }
}

std::vector<double> NpyValues(const NpyArray& array, numerics::DType dtype) {
  const int64_t item = array.item_bytes();
  std::vector<double> values(array.data.size() / item);
  for (size_t i = 0; i < values.size(); ++i) {
    const unsigned char* element = &array.data[i * item];
    if (array.type == "f8") {
      std::memcpy(&values[i], element, 8);
    } else {
      values[i] = numerics::LoadElement(element, dtype);
    }
  }
  return values;
}

}  // namespace canopy::tools
