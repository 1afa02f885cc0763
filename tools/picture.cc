// SPDX-License-Identifier: Apache-2.0
#include "tools/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace canopy::tools {
namespace {

void AppendBigEndian(uint32_t value, std::string* bytes) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes->push_back(static_cast<char>(value >> shift));
}

uint32_t Crc32(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

uint32_t Adler32(std::string_view bytes) {
  uint32_t a = 1, b = 0;
  for (const char byte : bytes) {
    a = (a + static_cast<uint8_t>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

void AppendChunk(const std::string& type, const std::string& data, std::string* file) {
  AppendBigEndian(static_cast<uint32_t>(data.size()), file);
  *file += type + data;
  AppendBigEndian(Crc32(type + data), file);
}

// A zlib stream of blocks that are stored as they are: pictures of a few bars need no compressor.
std::string Stored(const std::string& data) {
  std::string stream = "\x78\x01";
  constexpr size_t kBlock = 65535;
  for (size_t begin = 0; begin < data.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, data.size() - begin);
    const bool last = begin + size == data.size();
    stream += {static_cast<char>(last), static_cast<char>(size & 0xFF), static_cast<char>(size >> 8),
               static_cast<char>(~size & 0xFF), static_cast<char>(~size >> 8 & 0xFF)};
    stream += data.substr(begin, size);
  }
  AppendBigEndian(Adler32(data), &stream);
  return stream;
}

// Letters of 3 by 5 points; each number is a row, its bits from left to right.
struct Letter {
  char letter;
  std::array<uint8_t, 5> rows;
};
constexpr Letter kLetters[] = {
    {'0', {7, 5, 5, 5, 7}}, {'1', {2, 6, 2, 2, 7}}, {'2', {7, 1, 7, 4, 7}}, {'3', {7, 1, 7, 1, 7}},
    {'4', {5, 5, 7, 1, 1}}, {'5', {7, 4, 7, 1, 7}}, {'6', {7, 4, 7, 5, 7}}, {'7', {7, 1, 1, 2, 2}},
    {'8', {7, 5, 7, 5, 7}}, {'9', {7, 5, 7, 1, 7}}, {'A', {2, 5, 7, 5, 5}}, {'B', {6, 5, 6, 5, 6}},
    {'C', {3, 4, 4, 4, 3}}, {'D', {6, 5, 5, 5, 6}}, {'E', {7, 4, 6, 4, 7}}, {'F', {7, 4, 6, 4, 4}},
    {'G', {3, 4, 5, 5, 3}}, {'H', {5, 5, 7, 5, 5}}, {'I', {7, 2, 2, 2, 7}}, {'J', {1, 1, 1, 5, 2}},
    {'K', {5, 5, 6, 5, 5}}, {'L', {4, 4, 4, 4, 7}}, {'M', {5, 7, 7, 5, 5}}, {'N', {5, 7, 7, 7, 5}},
    {'O', {2, 5, 5, 5, 2}}, {'P', {6, 5, 6, 4, 4}}, {'Q', {2, 5, 5, 6, 3}}, {'R', {6, 5, 6, 5, 5}},
    {'S', {3, 4, 2, 1, 6}}, {'T', {7, 2, 2, 2, 2}}, {'U', {5, 5, 5, 5, 7}}, {'V', {5, 5, 5, 5, 2}},
    {'W', {5, 5, 7, 7, 5}}, {'X', {5, 5, 2, 5, 5}}, {'Y', {5, 5, 2, 2, 2}}, {'Z', {7, 1, 2, 4, 7}},
    {'.', {0, 0, 0, 0, 2}}, {',', {0, 0, 0, 2, 4}}, {'-', {0, 0, 7, 0, 0}}, {'/', {1, 1, 2, 4, 4}},
    {'_', {0, 0, 0, 0, 7}}, {':', {0, 2, 0, 2, 0}},
};

void Fill(Picture* picture, int left, int top, int width, int height, uint8_t grey) {
  for (int y = std::max(top, 0); y < std::min(top + height, picture->height); ++y) {
    for (int x = std::max(left, 0); x < std::min(left + width, picture->width); ++x) {
      picture->pixels[static_cast<size_t>(y) * picture->width + x] = grey;
    }
  }
}

constexpr int kPoint = 2;  // pixels of a letter's point

void Write(Picture* picture, int left, int top, const std::string& text) {
  for (const char c : text) {
    const char upper = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    for (const Letter& letter : kLetters) {
      for (int row = 0; letter.letter == upper && row < 5; ++row) {
        for (int column = 0; column < 3; ++column) {
          if ((letter.rows[row] >> (2 - column) & 1) == 0) continue;
          Fill(picture, left + column * kPoint, top + row * kPoint, kPoint, kPoint, 0);
        }
      }
    }
    left += 4 * kPoint;
  }
}

std::string BinLabel(int bin) {
  if (bin == 0) return "equal";
  if (bin == kBins - 1) return "nan/inf";
  if (bin == kBins - 2) return "more";
  char text[32];
  std::snprintf(text, sizeof(text), "%g ulp", kBinEnds[bin]);
  return text;
}

}  // namespace

std::string EncodePng(const Picture& picture) {
  std::string file = "\x89PNG\r\n\x1a\n";
  std::string header;
  AppendBigEndian(static_cast<uint32_t>(picture.width), &header);
  AppendBigEndian(static_cast<uint32_t>(picture.height), &header);
  header += std::string("\x08\x00\x00\x00\x00", 5);  // 8 bits of grey, no filter, not interlaced
  AppendChunk("IHDR", header, &file);
  std::string rows;
  for (int y = 0; y < picture.height; ++y) {
    rows += '\0';  // the row's filter: none
    rows.append(reinterpret_cast<const char*>(&picture.pixels[static_cast<size_t>(y) * picture.width]), picture.width);
  }
  AppendChunk("IDAT", Stored(rows), &file);
  AppendChunk("IEND", "", &file);
  return file;
}

Picture DrawHistogram(const Errors& errors, const std::string& title) {
  constexpr int kLeft = 80, kTop = 40, kBar = 24, kStep = 32, kLength = 420;
  Picture picture{640, kTop + kBins * kStep + 10, {}};
  picture.pixels.assign(static_cast<size_t>(picture.width) * picture.height, 255);
  Write(&picture, 10, 12, title);
  const double most =
      std::log10(1.0 + static_cast<double>(*std::max_element(errors.histogram.begin(), errors.histogram.end())));
  for (int bin = 0; bin < kBins; ++bin) {
    const int top = kTop + bin * kStep;
    const int64_t count = errors.histogram[bin];
    const double share = most == 0 ? 0 : std::log10(1.0 + static_cast<double>(count)) / most;
    const int length = static_cast<int>(std::lround(kLength * share));
    Write(&picture, 8, top + 8, BinLabel(bin));
    Fill(&picture, kLeft, top, length, kBar, bin == kBins - 1 ? 0 : 110);
    Write(&picture, kLeft + length + 8, top + 8, std::to_string(count));
  }
  Fill(&picture, kLeft - 2, kTop - 4, 2, kBins * kStep, 0);
  return picture;
}

}  // namespace canopy::tools
