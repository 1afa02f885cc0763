// SPDX-License-Identifier: Apache-2.0
// Words for messages: pieces of any kind in one string. Only refusals pay for it.
#ifndef CANOPY_OPAPI_TEXT_H_
#define CANOPY_OPAPI_TEXT_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace canopy::opapi {

inline void AppendText(std::string* text, std::string_view piece) { text->append(piece); }
template <std::integral T>
void AppendText(std::string* text, T value) {
  text->append(std::to_string(value));
}

// Text("stride[", 1, "]") is "stride[1]".
template <class... Pieces>
std::string Text(const Pieces&... pieces) {
  std::string text;
  (AppendText(&text, pieces), ...);
  return text;
}

// "[2, 3, 5]"
template <class Values>
std::string ListText(const Values& values, int64_t count) {
  std::string text = "[";
  for (int64_t i = 0; i < count; ++i) text += Text(i == 0 ? "" : ", ", values[i]);
  return text + "]";
}

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_TEXT_H_
