// SPDX-License-Identifier: Apache-2.0
// Gradients of convolutions: aclnnConvolutionBackward, aclnnConvTbcBackward, aclnnDeformableConv2dBackward.
//
// Every operator is two calls. The first checks the arguments, plans the work and gives a workspace size and an
// executor; it reads no tensor data and changes nothing when it fails. The second queues the work on a stream and
// returns; results are there after the stream is synchronised.
//
// Ownership: tensors and arrays stay the caller's and may be destroyed once the first call has returned (with a
// repeatable executor: once the last run is queued). Tensor data and workspace must live until the work is done. The
// executor is the library's: the second call consumes it, also when it fails, unless it was made repeatable.
//
// Codes of the first call: 0; 161001 for a null argument; 161002 for an argument that does not fit, aclGetRecentErrMsg
// then names it, what it was and what is allowed; 561101 or 561103 for lack of memory. With CANOPY_LIMITS=documented
// also 561103 for sizes beyond a documented limit of the emulated product.
// Codes of the second call: 0; 161001 for a null executor, a null workspace that is needed, or null data of a tensor
// that has elements; 161002 for a workspace smaller than the first call asked for; 561000 for a used or destroyed
// executor, or one that another operator's first call made; codes of the stream.
#ifndef OP_API_INC_CONVOLUTION_BACKWARD_H_
#define OP_API_INC_CONVOLUTION_BACKWARD_H_

#include "aclnn/aclnn_base.h"
#include "aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

// Gradients of a 1D, 2D or 3D convolution, plain or transposed, with respect to its input, weight and bias.
//
// R is 1, 2 or 3. Tensors of rank R + 2 are laid out (N, C, spatial...), tagged NCL (or ND), NCHW or NCDHW; any strides
// and offset, results too. Per axis: extents I of input, O of gradOutput, k of weight; s stride, d dilation, p padding.
//   plain:      input (N, Cin, I...), weight (Cout, Cin / groups, k...), gradOutput (N, Cout, O...),
//               O = floor of [I + p_before + p_behind - d * [k - 1] - 1] / s, plus 1
//   transposed: weight (Cin, Cout / groups, k...), and the same relation with I and O exchanged
//
// With y the forward result, g its gradient, sums over all n, o and kernel offsets kk whose indices are in range:
//   plain:      gradInput[n, ci, i]    = sum of g[n, co, o] * weight[co, ci, kk] over co and kk with i = o*s - p + kk*d
//               gradWeight[co, ci, kk] = sum of g[n, co, o] * input[n, ci, o*s - p + kk*d]
//   transposed: gradInput[n, ci, i]    = sum of g[n, co, i*s - p + kk*d] * weight[ci, co, kk]
//               gradWeight[ci, co, kk] = sum of input[n, ci, i] * g[n, co, i*s - p + kk*d]
//   both:       gradBias[co]           = sum of g[n, co, o]
// where a channel meets only the channels of its group.
//
// Types: FLOAT, FLOAT16, BFLOAT16, also mixed (Ascend 910 and 310P: FLOAT, FLOAT16; Ascend 950, transposed: also
// HIFLOAT8 and FLOAT8_E4M3FN). Sums are in FP32; each result is rounded once.
//
// biasSizes      shape of the bias, one entry; may be NULL except where a tensor is empty and gradBias is wanted
// stride, dilation  R entries, 1 or more
// padding        R entries, 0 or more, both sides; for R = 2 also 4: top, bottom, left, right
// outputPadding  R entries; all 0 unless transposed; not used in any sum
// groups         1 or more
// outputMask     3 entries: whether gradInput, gradWeight, gradBias are computed; the others may be NULL and are left
//                alone
// cubeMathType   how FLOAT inputs are multiplied: 0 as they are, 1 and 3 rounded to HFLOAT32, 2 rounded to FLOAT16
//                (Ascend 910 and 310P: 1 and 2 only, both FLOAT16). 16-bit and 8-bit inputs: any of 0 to 3, no effect.
// gradInput, gradWeight, gradBias  shapes of input, of weight, and (Cout)
ACLNN_API aclnnStatus aclnnConvolutionBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclTensor* input, const aclTensor* weight, const aclIntArray* biasSizes,
    const aclIntArray* stride, const aclIntArray* padding, const aclIntArray* dilation, bool transposed,
    const aclIntArray* outputPadding, int groups, const aclBoolArray* outputMask, int8_t cubeMathType,
    aclTensor* gradInput, aclTensor* gradWeight, aclTensor* gradBias, uint64_t* workspaceSize,
    aclOpExecutor** executor);

ACLNN_API aclnnStatus aclnnConvolutionBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                               const aclrtStream stream);

// Gradients of a 1D convolution over (time, batch, channel) tensors; stride, dilation and groups are 1.
//
// Whatever the format tag (ND or NCL): self (Hout, N, Cout) is the gradient of the forward result, input (Hin, N, Cin),
// weight (K, Cin, Cout), bias (Cout), Hout = Hin + 2 * pad + 1 - K. All three results are always computed:
//   gradInput[t, b, ci]   = sum over k, co of self[t + pad - k, b, co] * weight[k, ci, co]
//   gradWeight[k, ci, co] = sum over t, b of input[t + k - pad, b, ci] * self[t, b, co]
//   gradBias[co]          = sum over t, b of self[t, b, co]
// with terms out of range left out.
//
// Types: FLOAT, FLOAT16, BFLOAT16, also mixed (Ascend 910 and 310P: FLOAT, FLOAT16). gradInput and gradWeight have the
// types of input and weight; so has gradBias that of bias on Ascend 950. The data of bias are never read.
// pad is 0 or more; cubeMathType as above.
ACLNN_API aclnnStatus aclnnConvTbcBackwardGetWorkspaceSize(const aclTensor* self, const aclTensor* input,
                                                           const aclTensor* weight, const aclTensor* bias, int64_t pad,
                                                           int8_t cubeMathType, aclTensor* gradInput,
                                                           aclTensor* gradWeight, aclTensor* gradBias,
                                                           uint64_t* workspaceSize, aclOpExecutor** executor);

ACLNN_API aclnnStatus aclnnConvTbcBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                           const aclrtStream stream);

// Not offered: both answer 161002 and do nothing (161001 where workspaceSize or executor is NULL). Declared so that
// programs which mention them compile and link.
ACLNN_API aclnnStatus aclnnDeformableConv2dBackwardGetWorkspaceSize(
    const aclTensor* input, const aclTensor* gradOutput, const aclTensor* offsetOut, const aclTensor* weight,
    const aclTensor* offset, const aclIntArray* kernelSize, const aclIntArray* stride, const aclIntArray* padding,
    const aclIntArray* dilation, int64_t groups, int64_t deformableGroups, bool modulated, aclTensor* gradInput,
    aclTensor* gradWeight, aclTensor* gradOffset, aclTensor* gradBias, uint64_t* workspaceSize,
    aclOpExecutor** executor);

ACLNN_API aclnnStatus aclnnDeformableConv2dBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                    aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // OP_API_INC_CONVOLUTION_BACKWARD_H_
