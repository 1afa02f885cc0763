// SPDX-License-Identifier: Apache-2.0
#include "tools/npy.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"
#include "tools/case_list.h"

namespace canopy::tools {
namespace {

void WriteBytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// A file as NumPy would write it, with any header.
std::string File(const std::string& header, const std::string& elements) {
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  return bytes + header + elements;
}

std::string Refusal(const std::string& path) {
  try {
    ReadNpy(path);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

class Npy : public testing::Test {
 protected:
  const testing_support::ScratchFolder folder_;
};

TEST_F(Npy, EveryTypeComesBackAsItWasWritten) {
  for (const char* type : {"f4", "f2", "u2", "u1"}) {
    NpyArray array{type, {2, 3}, {}};
    for (int64_t i = 0; i < 6 * array.item_bytes(); ++i) array.data.push_back(static_cast<unsigned char>(37 * i));
    WriteNpy(folder_.File("back.npy"), array);
    const NpyArray again = ReadNpy(folder_.File("back.npy"));
    EXPECT_EQ(again.type, type);
    EXPECT_EQ(again.shape, array.shape);
    EXPECT_EQ(again.data, array.data);
  }
}

TEST_F(Npy, TheElementsBeginAtAMultipleOf64Bytes) {
  for (int64_t rank = 0; rank < 6; ++rank) {
    const NpyArray array{"f4", Extents(rank, 1), {1, 2, 3, 4}};
    WriteNpy(folder_.File("align.npy"), array);
    std::ifstream file(folder_.File("align.npy"), std::ios::binary | std::ios::ate);
    EXPECT_EQ((static_cast<int64_t>(file.tellg()) - 4) % 64, 0) << rank;
    EXPECT_EQ(ReadNpy(folder_.File("align.npy")).shape, array.shape);
  }
}

TEST_F(Npy, EmptyArraysAreFiles) {
  WriteNpy(folder_.File("empty.npy"), {"f4", {0, 3}, {}});
  EXPECT_EQ(ReadNpy(folder_.File("empty.npy")).shape, (Extents{0, 3}));
}

TEST_F(Npy, FortranOrderIsTurned) {
  WriteBytes(folder_.File("f.npy"), File("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", "abcdef"));
  const NpyArray array = ReadNpy(folder_.File("f.npy"));
  EXPECT_EQ(std::string(array.data.begin(), array.data.end()), "acebdf");
}

TEST_F(Npy, RawBitsAreValuesOfTheTypeThatIsSaid) {
  EXPECT_EQ(NpyValues({"u2", {1}, {0x80, 0x3F}}, numerics::DType::kBFloat16), (std::vector<double>{1}));
  EXPECT_EQ(NpyValues({"u1", {1}, {0x38}}, numerics::DType::kFloat8E4M3), (std::vector<double>{1}));
  EXPECT_EQ(NpyValues({"f2", {1}, {0x00, 0xC0}}, numerics::DType::kFloat16), (std::vector<double>{-2}));
}

TEST_F(Npy, TypesThatNumpyDoesNotKnowAreRawBits) {
  const std::string path = folder_.File("v.npy");
  WriteBytes(path, File("{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", "\x80\x3F"));
  EXPECT_EQ(NpyValues(ReadNpy(path), numerics::DType::kBFloat16), (std::vector<double>{1}));
  WriteBytes(path, File("{'descr': '|V1', 'fortran_order': False, 'shape': (1,), }", "\x38"));
  EXPECT_EQ(NpyValues(ReadNpy(path), numerics::DType::kFloat8E4M3), (std::vector<double>{1}));
}

TEST_F(Npy, ABadFileIsRefusedWithItsNameAndTheReason) {
  const std::string path = folder_.File("bad.npy");
  const auto says = [&](const std::string& bytes, const char* reason) {
    WriteBytes(path, bytes);
    const std::string message = Refusal(path);
    EXPECT_NE(message.find(path), message.npos) << message;
    EXPECT_NE(message.find(reason), message.npos) << message;
  };
  says("", "no .npy file");
  says("PK\x03\x04 a zip file", "no .npy file");
  says(std::string("\x93NUMPY\x07\x00\x10\x00", 10), "version 7");
  says(std::string("\x93NUMPY\x01\x00\x10\x00", 10), "ends inside of its header");
  says(File("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", "0123456789abcdef"), "<i8");
  says(File("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "0123"), ">f4");
  says(File("{'descr': '<f4', 'shape': (2,), }", "01234567"), "no fortran_order");
  says(File("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "0123"), "4 of 8 bytes");
  says(File("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "01234"), "goes on behind");
  says(File("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", ""), "has the shape");
  says(File("{'descr': '<f4', 'fortran_order': False, 'shape': (4000000, 4000000), }", ""), "more than");
  says(File("{'descr': '<f4', 'fortran_order': False, 'shape'", ""), "no shape");
  EXPECT_NE(Refusal(folder_.File("absent.npy")).find("cannot be opened"), std::string::npos);
}

}  // namespace
}  // namespace canopy::tools
