// SPDX-License-Identifier: Apache-2.0
#include "kernels/row_sums/contract.h"

namespace canopy::kernels {

const RowSumKernels& RowSumsFloat32();
const RowSumKernels& RowSumsHfloat32x11();
const RowSumKernels& RowSumsFloat16();
const RowSumKernels& RowSumsBFloat16();

const RowSumKernels& RowSums(convert::Form form) {
  switch (form) {
    case convert::Form::kHfloat32x11:
      return RowSumsHfloat32x11();
    case convert::Form::kFloat16:
      return RowSumsFloat16();
    case convert::Form::kBFloat16:
      return RowSumsBFloat16();
    default:
      return RowSumsFloat32();
  }
}

}  // namespace canopy::kernels
