// SPDX-License-Identifier: Apache-2.0
// The JSON file that aclInit may be given. Two of its keys have a meaning here; the rest is for devices.
#ifndef CANOPY_ASCENDCL_CONFIG_H_
#define CANOPY_ASCENDCL_CONFIG_H_

#include <string>

#include "base/status.h"

namespace canopy::ascendcl {

struct Config {
  bool errors_per_process = false;  // err_msg_mode
  int default_device = -1;          // defaultDevice.default_device; -1: none
  std::string content = "{}";       // in one canonical form, for comparing
};

// A null or empty path gives the defaults. 100003: no readable file; 100006: not a JSON object, or nested deeper than
// 10; 100000: a key has a value that it cannot have.
base::Status ReadConfig(const char* path, Config* config);

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_CONFIG_H_
