// SPDX-License-Identifier: Apache-2.0
#include "tools/case_list.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "product/product.h"

namespace canopy::tools {
namespace {

// "uniform:-1:1" and its siblings.
DataSpec ReadData(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ':');) parts.push_back(part);
  constexpr std::pair<const char*, DataSpec::Kind> kKinds[] = {{"uniform", DataSpec::Kind::kUniform},
                                                               {"normal", DataSpec::Kind::kNormal},
                                                               {"integers", DataSpec::Kind::kIntegers}};
  for (const auto& [name, kind] : kKinds) {
    if (parts.size() != 3 || parts[0] != name) continue;
    char *low_end = nullptr, *high_end = nullptr;
    const DataSpec data{kind, std::strtod(parts[1].c_str(), &low_end), std::strtod(parts[2].c_str(), &high_end)};
    if (!parts[1].empty() && !parts[2].empty() && *low_end == '\0' && *high_end == '\0') return data;
  }
  throw BadInput("data was \"" + text + "\"; allowed: uniform:low:high, normal:mean:deviation, integers:low:high");
}

int ReadStatus(const std::string& text) {
  char* end = nullptr;
  const long status = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || status < 0 || status > 999999) {
    throw BadInput("expect was \"" + text + "\"; allowed: a status code, 0 to 999999");
  }
  return static_cast<int>(status);
}

void Apply(const Overrides& overrides, conv::Call* call) {
  if (overrides.dtype) conv::SetCallDType(call, *overrides.dtype);
  if (overrides.mask && call->op == CallOp::kConvBackward) call->mask = *overrides.mask;
  if (overrides.math) call->math = *overrides.math;
}

}  // namespace

std::string CheckedSoc(const std::string& argument, const std::string& name) {
  if (product::FindProduct(name) != nullptr) return name;
  throw BadInput(argument + ": was \"" + name + "\"; allowed is one of " + product::KnownProductNames());
}

Case ReadTextLine(const std::string& line, const Overrides& overrides) {
  std::string call_text, soc;
  DataSpec data;
  int status = 0;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word.starts_with("data=")) {
      data = ReadData(word.substr(5));
    } else if (word.starts_with("expect=")) {
      status = ReadStatus(word.substr(7));
    } else if (word.starts_with("soc=")) {
      soc = CheckedSoc("soc", word.substr(4));
    } else {
      call_text += word + " ";
    }
  }
  conv::Call call;
  const base::Status parsed = conv::ParseCall(call_text, &call);
  if (!parsed.ok()) throw BadInput(parsed.message());
  Apply(overrides, &call);
  Case result = CaseOfCall(call);
  result.soc = soc;
  result.statuses = {status};
  for (TensorSpec& tensor : result.tensors) tensor.data = data;
  return result;
}

std::vector<Case> ReadCaseList(const std::string& path, const Overrides& overrides) {
  std::ifstream file(path);
  if (!file) throw BadInput(path + ": cannot be opened: " + std::strerror(errno));
  std::vector<Case> cases;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos || line[begin] == '#') continue;
    try {
      const bool json = line[begin] == '{';
      cases.push_back(json ? ReadJsonLine(line, overrides) : ReadTextLine(line.substr(0, line.find('#')), overrides));
    } catch (const std::exception& error) {
      throw BadInput(path + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  if (file.bad()) throw BadInput(path + ": cannot be read: " + std::strerror(errno));
  if (cases.empty()) throw BadInput(path + ": holds no case");
  return cases;
}

}  // namespace canopy::tools
