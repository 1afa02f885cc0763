// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "aclnn/acl_meta.h"
#include "nnopbase/tensor_view.h"
#include "tests/nnopbase/support.h"

namespace canopy::nnopbase {
namespace {

using Getter = aclnnStatus (*)(const aclTensor*, int64_t**, uint64_t*);

std::vector<int64_t> Get(Getter getter, const aclTensor* tensor) {
  int64_t* values = nullptr;
  uint64_t count = 77;
  EXPECT_EQ(getter(tensor, &values, &count), 0);
  const std::vector<int64_t> copy(values, values + count);
  delete[] values;
  return copy;
}

class TensorTest : public testing::Test {
 protected:
  ~TensorTest() override { TakeMessages(); }
};

TEST_F(TensorTest, GivesBackWhatItWasMadeOf) {
  int64_t dims[] = {2, 3, 4};
  int64_t strides[] = {40, 8, 2};
  int64_t storage[] = {100};
  float data = 0;
  aclTensor* t = aclCreateTensor(dims, 3, ACL_BF16, strides, 5, ACL_FORMAT_NCL, storage, 1, &data);
  ASSERT_NE(t, nullptr);
  dims[0] = strides[0] = storage[0] = -1;  // the arrays were copied
  EXPECT_EQ(Get(aclGetViewShape, t), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(Get(aclGetViewStrides, t), (std::vector<int64_t>{40, 8, 2}));
  EXPECT_EQ(Get(aclGetStorageShape, t), (std::vector<int64_t>{100}));
  int64_t offset = 0;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  aclDataType dtype = ACL_DT_UNDEFINED;
  void* addr = nullptr;
  EXPECT_EQ(aclGetViewOffset(t, &offset), 0);
  EXPECT_EQ(aclGetFormat(t, &format), 0);
  EXPECT_EQ(aclGetDataType(t, &dtype), 0);
  EXPECT_EQ(aclGetRawTensorAddr(t, &addr), 0);
  EXPECT_EQ(offset, 5);
  EXPECT_EQ(format, ACL_FORMAT_NCL);
  EXPECT_EQ(dtype, ACL_BF16);
  EXPECT_EQ(addr, &data) << "the base, without the offset";
  EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_EQ(TakeMessages(), "");
}

TEST_F(TensorTest, DerivesContiguousStridesFromNull) {
  const int64_t dims[] = {2, 3, 4, 5};
  aclTensor* t = aclCreateTensor(dims, 4, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCHW, dims, 4, nullptr);
  EXPECT_EQ(Get(aclGetViewStrides, t), (std::vector<int64_t>{60, 20, 5, 1}));
  EXPECT_EQ(aclDestroyTensor(t), 0);
}

// The reach of such a view must not look small to the operators' checks.
TEST_F(TensorTest, DerivesHugeStridesWithoutWrapping) {
  const int64_t dims[] = {2, int64_t{1} << 40, int64_t{1} << 40};
  aclTensor* t = aclCreateTensor(dims, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 3, nullptr);
  EXPECT_EQ(Get(aclGetViewStrides, t),
            (std::vector<int64_t>{std::numeric_limits<int64_t>::max(), int64_t{1} << 40, 1}));
  EXPECT_EQ(aclDestroyTensor(t), 0);
}

TEST_F(TensorTest, TakesAnyExtentTypeAndFormat) {
  const int64_t dims[] = {-3, 0};
  aclTensor* t = aclCreateTensor(dims, 2, ACL_DT_UNDEFINED, nullptr, -9, ACL_FORMAT_FRACTAL_NZ, dims, 1, nullptr);
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(Get(aclGetViewShape, t), (std::vector<int64_t>{-3, 0}));
  EXPECT_EQ(aclDestroyTensor(t), 0);
}

TEST_F(TensorTest, MayHaveNoAxes) {
  aclTensor* t = aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  ASSERT_NE(t, nullptr);
  EXPECT_TRUE(Get(aclGetViewShape, t).empty());
  EXPECT_TRUE(Get(aclGetStorageShape, t).empty());
  TensorView view;
  EXPECT_TRUE(ReadTensor(t, &view));
  EXPECT_EQ(view.rank, 0);
  EXPECT_EQ(aclDestroyTensor(t), 0);
}

TEST_F(TensorTest, IsNotMadeWithoutItsExtents) {
  const int64_t dims[] = {1};
  EXPECT_EQ(aclCreateTensor(nullptr, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr), nullptr);
  EXPECT_TRUE(Mentions(TakeMessages(), "viewDims"));
  EXPECT_EQ(aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 1, nullptr), nullptr);
  EXPECT_TRUE(Mentions(TakeMessages(), "storageDims"));
}

TEST_F(TensorTest, IsNotMadeWhereNoMemoryHoldsItsExtents) {
  const int64_t dims[] = {1};
  EXPECT_EQ(aclCreateTensor(dims, ~uint64_t{0}, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr), nullptr);
  EXPECT_TRUE(Mentions(TakeMessages(), "no memory"));
}

TEST_F(TensorTest, IsReadAsAView) {
  const int64_t dims[] = {2, 3};
  const int64_t strides[] = {0, 7};
  int data = 0;
  aclTensor* t = aclCreateTensor(dims, 2, ACL_FLOAT16, strides, 4, ACL_FORMAT_ND, dims, 2, &data);
  TensorView view;
  ASSERT_TRUE(ReadTensor(t, &view));
  EXPECT_EQ(view.rank, 2);
  EXPECT_EQ(view.dims[0], 2);
  EXPECT_EQ(view.dims[1], 3);
  EXPECT_EQ(view.strides[0], 0);
  EXPECT_EQ(view.strides[1], 7);
  EXPECT_EQ(view.offset, 4);
  EXPECT_EQ(view.dtype, ACL_FLOAT16);
  EXPECT_EQ(view.format, ACL_FORMAT_ND);
  EXPECT_EQ(view.data, &data);
  EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_FALSE(ReadTensor(t, &view));
  EXPECT_FALSE(ReadTensor(Foreign<aclTensor>(), &view));
}

TEST_F(TensorTest, KeepsMoreAxesThanAViewShows) {
  std::vector<int64_t> dims = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  aclTensor* t = MakeTensor(dims);
  EXPECT_EQ(Get(aclGetViewShape, t), dims);
  TensorView view;
  ASSERT_TRUE(ReadTensor(t, &view));
  EXPECT_EQ(view.rank, 10);
  EXPECT_EQ(view.dims[kMaxRank - 1], 8);
  EXPECT_EQ(aclDestroyTensor(t), 0);
}

TEST_F(TensorTest, CanBeMadeAnew) {
  aclTensor* t = MakeTensor({2, 3});
  const int64_t dims[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const int64_t storage[] = {9};
  int data = 0;
  EXPECT_EQ(aclInitTensor(t, dims, 9, ACL_INT8, nullptr, 1, ACL_FORMAT_NCHW, storage, 1, &data), 0);
  EXPECT_EQ(Get(aclGetViewShape, t).size(), 9u);
  EXPECT_EQ(Get(aclGetStorageShape, t), (std::vector<int64_t>{9}));
  void* addr = nullptr;
  EXPECT_EQ(aclGetRawTensorAddr(t, &addr), 0);
  EXPECT_EQ(addr, &data);
  EXPECT_EQ(aclDestroyTensor(t), 0);
}

TEST_F(TensorTest, StaysAsItWasWhenItCannotBeMadeAnew) {
  aclTensor* t = MakeTensor({2, 3});
  const int64_t dims[] = {1};
  EXPECT_EQ(aclInitTensor(nullptr, dims, 1, ACL_INT8, nullptr, 1, ACL_FORMAT_ND, dims, 1, nullptr), kNullPointer);
  EXPECT_EQ(aclInitTensor(t, nullptr, 1, ACL_INT8, nullptr, 1, ACL_FORMAT_ND, dims, 1, nullptr), kNullPointer);
  EXPECT_EQ(aclInitTensor(t, dims, 1, ACL_INT8, nullptr, 1, ACL_FORMAT_ND, nullptr, 1, nullptr), kNullPointer);
  EXPECT_EQ(aclInitTensor(t, dims, ~uint64_t{0}, ACL_INT8, nullptr, 1, ACL_FORMAT_ND, dims, 1, nullptr), kInnerNull);
  EXPECT_EQ(Get(aclGetViewShape, t), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_EQ(aclInitTensor(t, dims, 1, ACL_INT8, nullptr, 1, ACL_FORMAT_ND, dims, 1, nullptr), kInvalid);
}

TEST_F(TensorTest, TakesAnotherAddress) {
  int data = 0;
  aclTensor* t = MakeTensor({1});
  EXPECT_EQ(aclSetRawTensorAddr(t, &data), 0);
  void* addr = nullptr;
  EXPECT_EQ(aclGetRawTensorAddr(t, &addr), 0);
  EXPECT_EQ(addr, &data);
  EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_EQ(aclSetRawTensorAddr(t, &data), kInvalid);
  EXPECT_EQ(aclSetRawTensorAddr(nullptr, &data), kNullPointer);
}

TEST_F(TensorTest, IsDestroyedOnce) {
  aclTensor* t = MakeTensor({1});
  EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_EQ(aclDestroyTensor(t), kInvalid);
  EXPECT_TRUE(Mentions(TakeMessages(), "a destroyed aclTensor"));
  EXPECT_EQ(aclDestroyTensor(nullptr), 0);
  EXPECT_EQ(TakeMessages(), "");
}

TEST_F(TensorTest, IsNotAnotherKindOfHandle) {
  const int64_t value = 3;
  aclIntArray* array = aclCreateIntArray(&value, 1);
  auto* posing = reinterpret_cast<aclTensor*>(array);
  EXPECT_EQ(aclDestroyTensor(posing), kInvalid);
  EXPECT_TRUE(Mentions(TakeMessages(), "an aclIntArray"));
  uint64_t size = 0;
  EXPECT_EQ(aclGetIntArraySize(array, &size), 0) << "the array is unharmed";
  EXPECT_EQ(aclDestroyTensor(Foreign<aclTensor>()), kInvalid);
  EXPECT_TRUE(Mentions(TakeMessages(), "not a handle of this library"));
  EXPECT_EQ(aclDestroyIntArray(array), 0);
}

TEST_F(TensorTest, GettersRefuseNullsAndStaleTensors) {
  aclTensor* t = MakeTensor({1});
  int64_t* values = nullptr;
  int64_t offset = 0;
  uint64_t count = 0;
  aclFormat format;
  aclDataType dtype;
  void* addr = nullptr;
  for (const Getter getter : {aclGetViewShape, aclGetStorageShape, aclGetViewStrides}) {
    EXPECT_EQ(getter(nullptr, &values, &count), kNullPointer);
    EXPECT_EQ(getter(t, nullptr, &count), kNullPointer);
    EXPECT_EQ(getter(t, &values, nullptr), kNullPointer);
    EXPECT_EQ(getter(Foreign<aclTensor>(), &values, &count), kInvalid);
  }
  EXPECT_EQ(values, nullptr);
  EXPECT_EQ(aclGetViewOffset(nullptr, &offset), kNullPointer);
  EXPECT_EQ(aclGetViewOffset(t, nullptr), kNullPointer);
  EXPECT_EQ(aclGetFormat(nullptr, &format), kNullPointer);
  EXPECT_EQ(aclGetFormat(t, nullptr), kNullPointer);
  EXPECT_EQ(aclGetDataType(nullptr, &dtype), kNullPointer);
  EXPECT_EQ(aclGetDataType(t, nullptr), kNullPointer);
  EXPECT_EQ(aclGetRawTensorAddr(nullptr, &addr), kNullPointer);
  EXPECT_EQ(aclGetRawTensorAddr(t, nullptr), kNullPointer);
  EXPECT_TRUE(Mentions(TakeMessages(), "aclGetRawTensorAddr: argument addr is NULL"));
  EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_EQ(aclGetViewShape(t, &values, &count), kInvalid);
  EXPECT_EQ(aclGetViewOffset(t, &offset), kInvalid);
  EXPECT_EQ(aclGetFormat(t, &format), kInvalid);
  EXPECT_EQ(aclGetDataType(t, &dtype), kInvalid);
  EXPECT_EQ(aclGetRawTensorAddr(t, &addr), kInvalid);
  EXPECT_NE(TakeMessages(), "");
}

}  // namespace
}  // namespace canopy::nnopbase
