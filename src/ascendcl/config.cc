// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/config.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"

namespace canopy::ascendcl {
namespace {

using Json = nlohmann::json;

constexpr int kMaxNesting = 10;

// Brackets outside of strings, counted before the parser recurses into them.
int Nesting(const std::string& text) {
  int depth = 0;
  int deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '{' || c == '[')) {
      deepest = std::max(deepest, ++depth);
    } else if (!quoted && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return deepest;
}

base::Status ReadErrorMode(const Json& json, Config* config) {
  const auto mode = json.find("err_msg_mode");
  if (mode == json.end()) return base::Status();
  if (*mode != "0" && *mode != "1") {
    return Refuse(ACL_ERROR_INVALID_PARAM, "err_msg_mode is %s; allowed are \"0\" (a thread) and \"1\" (the process)",
                  mode->dump().c_str());
  }
  config->errors_per_process = *mode == "1";
  return base::Status();
}

// The documented form is a number in quotes; a plain number is meant the same.
bool ReadWholeNumber(const Json& value, int* number) {
  if (value.is_number_unsigned()) {
    *number = static_cast<int>(std::min<uint64_t>(value.get<uint64_t>(), 1 << 20));
    return true;
  }
  if (!value.is_string()) return false;
  const std::string& text = value.get_ref<const std::string&>();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number >= 0;
}

base::Status ReadDefaultDevice(const Json& json, Config* config) {
  const auto section = json.find("defaultDevice");
  if (section == json.end()) return base::Status();
  const bool given = section->is_object() && section->contains("default_device");
  if (given && ReadWholeNumber((*section)["default_device"], &config->default_device)) return base::Status();
  return Refuse(ACL_ERROR_INVALID_PARAM, "defaultDevice is %s; allowed is {\"default_device\": \"number of a device\"}",
                section->dump().c_str());
}

}  // namespace

base::Status ReadConfig(const char* path, Config* config) {
  if (path == nullptr || *path == '\0') return base::Status();
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open() || !std::filesystem::is_regular_file(path, ignored)) {
    return Refuse(ACL_ERROR_INVALID_FILE, "configPath is \"%.500s\", which is no readable file", path);
  }
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (Nesting(text) > kMaxNesting) {
    return Refuse(ACL_ERROR_PARSE_FILE, "\"%.500s\" nests %d brackets; at most %d are allowed", path, Nesting(text),
                  kMaxNesting);
  }
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Refuse(ACL_ERROR_PARSE_FILE, "\"%.500s\" holds no JSON object", path);
  config->content = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  CANOPY_RETURN_IF_ERROR(ReadErrorMode(json, config));
  return ReadDefaultDevice(json, config);
}

}  // namespace canopy::ascendcl
