// SPDX-License-Identifier: Apache-2.0
#include "opapi/snapshot.h"

namespace canopy::opapi {

void Take(const aclTensor* handle, TensorArgument* argument) {
  argument->handle = handle;
  if (handle == nullptr) return;
  argument->state = nnopbase::ReadTensor(handle, &argument->view) ? Handle::kRead : Handle::kStale;
}

void Take(const aclIntArray* handle, IntArrayArgument* argument) {
  if (handle == nullptr) return;
  argument->state = nnopbase::ReadIntArray(handle, &argument->view) ? Handle::kRead : Handle::kStale;
}

void Take(const aclBoolArray* handle, BoolArrayArgument* argument) {
  if (handle == nullptr) return;
  argument->state = nnopbase::ReadBoolArray(handle, &argument->view) ? Handle::kRead : Handle::kStale;
}

}  // namespace canopy::opapi
