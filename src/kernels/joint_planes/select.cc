// SPDX-License-Identifier: Apache-2.0
#include "kernels/joint_planes/contract.h"

namespace canopy::kernels {

const JointKernels& JointPlanesFloat32();
const JointKernels& JointPlanesHfloat32x11();
const JointKernels& JointPlanesFloat16();
const JointKernels& JointPlanesBFloat16();

const JointKernels& JointPlanes(convert::Form form) {
  switch (form) {
    case convert::Form::kHfloat32x11:
      return JointPlanesHfloat32x11();
    case convert::Form::kFloat16:
      return JointPlanesFloat16();
    case convert::Form::kBFloat16:
      return JointPlanesBFloat16();
    default:
      return JointPlanesFloat32();
  }
}

}  // namespace canopy::kernels
