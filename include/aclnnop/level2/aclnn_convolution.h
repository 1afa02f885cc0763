// SPDX-License-Identifier: Apache-2.0
// Convolutions: aclnnConvolution, aclnnConvTbc, aclnnConvDepthwise2d.
//
// The two calls of an operator, ownership and codes are those that aclnn_convolution_backward.h describes.
#ifndef OP_API_INC_CONVOLUTION_H
#define OP_API_INC_CONVOLUTION_H

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

// A 1D, 2D or 3D convolution, plain or transposed.
//
// R is 1, 2 or 3. input, weight and output have rank R + 2 and are tagged NCL, NCHW or NCDHW (ND is refused here); any
// strides and offset, output too. Per axis: extents I of input, O of output, k of weight; s stride, d dilation, p
// padding, e outputPadding.
//   plain:      input (N, Cin, I...), weight (Cout, Cin / groups, k...), output (N, Cout, O...),
//               O = floor of [I + p_before + p_behind - d * [k - 1] - 1] / s, plus 1
//               output[n, co, o] = bias[co] + sum over ci, kk of input[n, ci, o*s - p + kk*d] * weight[co, ci, kk]
//   transposed: weight (Cin, Cout / groups, k...), O = [I - 1] * s - p_before - p_behind + d * [k - 1] + e + 1,
//               output[n, co, o] = bias[co] + sum of input[n, ci, i] * weight[ci, co, kk] over all ci, i and kk with
//               o = i*s - p + kk*d
// where a channel meets only the channels of its group and indices out of range are left out.
//
// Types: FLOAT, FLOAT16, BFLOAT16, also mixed (Ascend 910 and 310P: FLOAT, FLOAT16; Ascend 950: also HIFLOAT8 and,
// transposed, FLOAT8_E4M3FN). Sums are in FP32; bias is added unrounded; the result is rounded once.
//
// bias           (Cout), tagged ND, NCL, NCHW or NCDHW, FLOAT, FLOAT16 or BFLOAT16; NULL for none
// stride, dilation  R entries, 1 or more
// padding        R entries, 0 or more, both sides; for R = 2 also 4: top, bottom, left, right; for R = 1 and plain also
//                2: left, right
// outputPadding  transposed: R entries, 0 or more and below the greater of stride and dilation; else not looked at
// groups         1 or more
// cubeMathType   how FLOAT inputs are multiplied: 0 and 4 as they are, 1 and 3 rounded to HFLOAT32, 2 to FLOAT16
//                (Ascend 910 and 310P: 1 and 2 only, both FLOAT16). 16-bit and 8-bit inputs: any of 0 to 4, no effect.
ACLNN_API aclnnStatus aclnnConvolutionGetWorkspaceSize(const aclTensor* input, const aclTensor* weight,
                                                       const aclTensor* bias, const aclIntArray* stride,
                                                       const aclIntArray* padding, const aclIntArray* dilation,
                                                       bool transposed, const aclIntArray* outputPadding,
                                                       const int64_t groups, aclTensor* output, int8_t cubeMathType,
                                                       uint64_t* workspaceSize, aclOpExecutor** executor);

ACLNN_API aclnnStatus aclnnConvolution(void* workspace, const uint64_t workspaceSize, aclOpExecutor* executor,
                                       aclrtStream stream);

// A 1D convolution over (time, batch, channel) tensors; stride, dilation and groups are 1.
//
// Whatever the format tag (ND or NCL): self (T, B, Cin), weight (K, Cin, Cout), bias (Cout, required), and
//   output[t, b, co] = bias[co] + sum over k, ci of self[t + k - pad, b, ci] * weight[k, ci, co],
// output (T + 2 * pad + 1 - K, B, Cout), with terms out of range left out. self, weight and output have one type:
// FLOAT, FLOAT16 or BFLOAT16 (Ascend 910 and 310P: FLOAT, FLOAT16; Ascend 950: also HIFLOAT8). pad is 0 or more;
// cubeMathType as above.
ACLNN_API aclnnStatus aclnnConvTbcGetWorkspaceSize(const aclTensor* self, const aclTensor* weight,
                                                   const aclTensor* bias, const int64_t pad, aclTensor* output,
                                                   int8_t cubeMathType, uint64_t* workspaceSize,
                                                   aclOpExecutor** executor);

ACLNN_API aclnnStatus aclnnConvTbc(void* workspace, const uint64_t workspaceSize, aclOpExecutor* executor,
                                   aclrtStream stream);

// A plain 2D convolution in which every input channel is a group of its own: self (N, Cin, H, W), weight (Cout, 1, kH,
// kW) with Cout a multiple of Cin, out (N, Cout, OH, OW), all tagged NCHW and of one type, as is bias (Cout; NULL for
// none; with HIFLOAT8 of any float type). kernelSize repeats kH, kW; stride, padding and dilation have 2 entries.
// Formula and cubeMathType as for aclnnConvolution.
ACLNN_API aclnnStatus aclnnConvDepthwise2dGetWorkspaceSize(const aclTensor* self, const aclTensor* weight,
                                                           const aclIntArray* kernelSize, const aclTensor* bias,
                                                           const aclIntArray* stride, const aclIntArray* padding,
                                                           const aclIntArray* dilation, aclTensor* out,
                                                           int8_t cubeMathType, uint64_t* workspaceSize,
                                                           aclOpExecutor** executor);

ACLNN_API aclnnStatus aclnnConvDepthwise2d(void* workspace, const uint64_t workspaceSize, aclOpExecutor* executor,
                                           aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // OP_API_INC_CONVOLUTION_H
