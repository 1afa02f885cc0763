// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/soc.h"

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"
#include "base/env.h"
#include "product/product.h"

namespace canopy::ascendcl {

base::Status CheckSoc() {
  if (product::CurrentProduct() != nullptr) return base::Status();
  return Refuse(ACL_ERROR_RT_SOC_VERSION,
                "the environment variable CANOPY_SOC is \"%.100s\", which is no known chip; known are %s",
                base::EnvText("CANOPY_SOC", "").c_str(), product::KnownProductNames());
}

}  // namespace canopy::ascendcl

const char* aclrtGetSocName(void) {
  namespace ascendcl = canopy::ascendcl;
  if (ascendcl::Boundary("aclrtGetSocName", ascendcl::CheckSoc) != ACL_SUCCESS) return nullptr;
  return canopy::product::CurrentProduct()->soc_name;
}
