// SPDX-License-Identifier: Apache-2.0
// Checks lists of cases. One process is one product, so cases for several products are shared out to child processes,
// one a product.
#ifndef CANOPY_TOOLS_CHECK_LIST_H_
#define CANOPY_TOOLS_CHECK_LIST_H_

#include <cstdio>
#include <string>
#include <vector>

#include "tools/report.h"

namespace canopy::tools {

struct CaseList {
  std::string name;
  std::vector<Case> cases;
};

struct ListOptions {
  CheckOptions check;
  Detail detail = Detail::kTable;
  std::string soc;  // of cases that name none; empty: what CANOPY_SOC says
  std::FILE* csv = nullptr;
  std::FILE* json = nullptr;
};

// Prints reports, then passed and total of each list. Returns the number of cases that failed.
// REQUIRES: the process has not used the runtime yet.
size_t CheckLists(const std::vector<CaseList>& lists, const ListOptions& options);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_CHECK_LIST_H_
