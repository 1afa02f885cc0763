// SPDX-License-Identifier: Apache-2.0
// What aclrtCreateStreamV2 is told. The one handle whose structure is public, hence a real address; it is checked by
// being known.
#ifndef CANOPY_ASCENDCL_STREAM_CONFIG_H_
#define CANOPY_ASCENDCL_STREAM_CONFIG_H_

#include "acl/acl_rt.h"
#include "base/status.h"

namespace canopy::ascendcl {

// 100000 for null, 107017 for what is no living configuration.
base::Status CheckConfigHandle(const aclrtStreamConfigHandle* handle);

}  // namespace canopy::ascendcl

#endif  // CANOPY_ASCENDCL_STREAM_CONFIG_H_
