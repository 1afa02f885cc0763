// SPDX-License-Identifier: Apache-2.0
#include "opapi/names.h"

#include <vector>

namespace canopy::opapi {
namespace {

struct DTypeName {
  aclDataType value;
  const char* name;
};
constexpr DTypeName kDTypeNames[] = {
#define CANOPY_DTYPE_NAME(value, name) {value, name},
#include "opapi/names.inc"
#undef CANOPY_DTYPE_NAME
};

struct FormatName {
  aclFormat value;
  const char* name;
};
constexpr FormatName kFormatNames[] = {
#define CANOPY_FORMAT_NAME(value, name) {value, name},
#include "opapi/names.inc"
#undef CANOPY_FORMAT_NAME
};

template <class Table, class T>
std::string NameIn(const Table& table, T value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return std::to_string(static_cast<int>(value));
}

template <class Table, class Set>
std::string NamesIn(const Table& table, Set set) {
  std::vector<const char*> members;
  for (const auto& entry : table) {
    if (set.Has(entry.value)) members.push_back(entry.name);
  }
  std::string text;
  for (size_t i = 0; i < members.size(); ++i) {
    if (i != 0) text += i + 1 == members.size() ? " or " : ", ";
    text += members[i];
  }
  return text;
}

}  // namespace

std::string Name(aclDataType dtype) { return NameIn(kDTypeNames, dtype); }
std::string Name(aclFormat format) { return NameIn(kFormatNames, format); }
std::string Names(DTypeSet dtypes) { return NamesIn(kDTypeNames, dtypes); }
std::string Names(FormatSet formats) { return NamesIn(kFormatNames, formats); }

}  // namespace canopy::opapi
