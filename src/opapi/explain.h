// SPDX-License-Identifier: Apache-2.0
// Why a call is accepted or refused, for any product, without running it: every rule walked, in words.
#ifndef CANOPY_OPAPI_EXPLAIN_H_
#define CANOPY_OPAPI_EXPLAIN_H_

#include <string>
#include <vector>

#include "conv/call_text.h"
#include "product/product.h"

namespace canopy::opapi {

struct Finding {
  std::string rule;     // its stable name
  std::string says;     // the rule
  std::string message;  // which argument, what it was, what is allowed
};

struct Explanation {
  int code = 0;  // what phase 1 returns by default; 0: accepted
  Finding refusal;
  std::vector<Finding> limits;         // of the device, which CANOPY_LIMITS=documented refuses with 561103
  std::vector<Finding> remarks;        // what the strict document would refuse
  std::vector<std::string> precision;  // accepted: what is rounded to what
  std::string plan;                    // accepted: what would run here
};

Explanation Explain(const conv::Call& call, const product::Product& product);

}  // namespace canopy::opapi

#endif  // CANOPY_OPAPI_EXPLAIN_H_
