// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "tests/ascendcl/memory_fixture.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // aclrtMemcpyAsyncWithCondition

namespace canopy::ascendcl {
namespace {

class CopyTest : public MemoryTest {};

TEST_F(CopyTest, CopiesWhateverTheKindSays) {
  char* device = static_cast<char*>(Device(16));
  for (int kind = 0; kind <= 5; ++kind) {
    const std::vector<char> source(16, static_cast<char>('a' + kind));
    EXPECT_EQ(aclrtMemcpy(device, 16, source.data(), 16, static_cast<aclrtMemcpyKind>(kind)), ACL_SUCCESS);
    EXPECT_EQ(std::memcmp(device, source.data(), 16), 0);
  }
}

TEST_F(CopyTest, ChecksInOrder) {
  char a[8] = {};
  char b[8] = {};
  const auto wrong = static_cast<aclrtMemcpyKind>(6);
  EXPECT_EQ(aclrtMemcpy(nullptr, 0, nullptr, 0, wrong), ACL_SUCCESS) << "a count of 0 comes before every check";
  EXPECT_REFUSED(aclrtMemcpy(nullptr, 8, nullptr, 9, wrong), ACL_ERROR_INVALID_PARAM, "dst");
  EXPECT_REFUSED(aclrtMemcpy(a, 8, nullptr, 9, wrong), ACL_ERROR_INVALID_PARAM, "src");
  EXPECT_REFUSED(aclrtMemcpy(a, 8, b, 9, wrong), ACL_ERROR_INVALID_PARAM, "kind is 6");
  EXPECT_REFUSED(aclrtMemcpy(a, 8, b, 9, static_cast<aclrtMemcpyKind>(-1)), ACL_ERROR_INVALID_PARAM, "kind is -1");
  EXPECT_REFUSED(aclrtMemcpy(a, 8, b, 9, ACL_MEMCPY_DEFAULT), ACL_ERROR_RT_PARAM_INVALID, "count is 9");
  std::thread([&] {
    EXPECT_EQ(aclrtMemcpy(a, 8, a, 8, ACL_MEMCPY_DEFAULT), ACL_SUCCESS) << "onto itself";
    EXPECT_REFUSED(aclrtMemcpy(a, 8, b, 9, ACL_MEMCPY_DEFAULT), ACL_ERROR_RT_PARAM_INVALID, "count is 9");
    EXPECT_REFUSED(aclrtMemcpy(a, 8, b, 8, ACL_MEMCPY_DEFAULT), ACL_ERROR_RT_CONTEXT_NULL, "context");
    EXPECT_REFUSED(aclrtMemset(a, 8, 0, 8), ACL_ERROR_RT_CONTEXT_NULL, "context");
  }).join();
}

TEST_F(CopyTest, DoesNotWaitForStreams) {
  Gate gate;
  QueueGate(nullptr, gate);
  char a[4] = {1, 2, 3, 4};
  char b[4] = {};
  EXPECT_EQ(aclrtMemcpy(b, 4, a, 4, ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
  EXPECT_EQ(b[3], 4);
  gate.Open();
}

TEST_F(CopyTest, AsyncKeepsStreamOrder) {
  aclrtStream stream = NewStream();
  int* a = static_cast<int*>(Device(4));
  int* b = static_cast<int*>(Device(4));
  *a = 1;
  Gate gate;
  QueueGate(stream, gate);
  Queue(stream, [a] { return *a = 2, ACL_SUCCESS; });
  ASSERT_EQ(aclrtMemcpyAsync(b, 4, a, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(a, 4, 0, 4, stream), ACL_SUCCESS);
  EXPECT_EQ(*a, 1) << "nothing has run";
  gate.Open();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(*b, 2);
  EXPECT_EQ(*a, 0);
}

TEST_F(CopyTest, AsyncWithPlainHostMemoryIsDoneWhenItReturns) {
  aclrtStream stream = NewStream();
  constexpr size_t kBytes = 1 << 20;  // large, so that the dispatcher copies it
  char* device = static_cast<char*>(Device(kBytes));
  auto source = std::make_unique<std::vector<char>>(kBytes, 'x');
  ASSERT_EQ(aclrtMemcpyAsync(device, kBytes, source->data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream), ACL_SUCCESS);
  source.reset();
  std::vector<char> result(kBytes);
  ASSERT_EQ(aclrtMemcpyAsync(result.data(), kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
  EXPECT_EQ(result, std::vector<char>(kBytes, 'x'));
}

TEST_F(CopyTest, AsyncChecksAsTheOther) {
  char a[8] = {};
  char b[8] = {};
  const auto wrong = static_cast<aclrtMemcpyKind>(6);
  EXPECT_EQ(aclrtMemcpyAsync(nullptr, 0, nullptr, 0, wrong, kGarbage[0]), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtMemcpyAsync(nullptr, 8, b, 8, wrong, nullptr), ACL_ERROR_INVALID_PARAM, "dst");
  EXPECT_REFUSED(aclrtMemcpyAsync(a, 8, nullptr, 8, wrong, nullptr), ACL_ERROR_INVALID_PARAM, "src");
  EXPECT_REFUSED(aclrtMemcpyAsync(a, 8, b, 8, wrong, nullptr), ACL_ERROR_INVALID_PARAM, "kind");
  EXPECT_REFUSED(aclrtMemcpyAsync(a, 7, b, 8, ACL_MEMCPY_DEFAULT, nullptr), ACL_ERROR_RT_PARAM_INVALID, "destMax");
  EXPECT_REFUSED(aclrtMemcpyAsync(a, 8, b, 8, ACL_MEMCPY_DEFAULT, kGarbage[0]), ACL_ERROR_RT_INVALID_HANDLE, "stream");
  EXPECT_EQ(aclrtMemcpyAsync(a, 8, b, 8, ACL_MEMCPY_HOST_TO_HOST, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsyncWithCondition(a, 8, b, 8, ACL_MEMCPY_HOST_TO_HOST, nullptr), ACL_SUCCESS);
}

TEST_F(CopyTest, OfRowsKeepsPitches) {
  char* device = static_cast<char*>(Device(12));
  const char source[] = "abcXdefX";
  std::memset(device, '-', 12);
  EXPECT_EQ(aclrtMemcpy2d(device, 6, source, 4, 3, 2, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(std::string(device, 12), "abc---def---");
  std::memset(device, '-', 12);
  EXPECT_EQ(aclrtMemcpy2dAsync(device, 5, source, 4, 4, 2, ACL_MEMCPY_DEFAULT, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(std::string(device, 12), "abcX-defX---");
}

TEST_F(CopyTest, OfRowsChecksInOrder) {
  char a[8] = {};
  char b[8] = {};
  EXPECT_EQ(aclrtMemcpy2d(nullptr, 0, nullptr, 0, 0, 5, ACL_MEMCPY_HOST_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy2dAsync(nullptr, 0, nullptr, 0, 5, 0, ACL_MEMCPY_HOST_TO_HOST, nullptr), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtMemcpy2d(nullptr, 1, b, 1, 2, 2, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_INVALID_PARAM, "dst");
  EXPECT_REFUSED(aclrtMemcpy2d(a, 1, nullptr, 1, 2, 2, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_INVALID_PARAM, "src");
  EXPECT_REFUSED(aclrtMemcpy2d(a, 1, b, 1, 2, 2, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_INVALID_PARAM, "kind is 0");
  EXPECT_REFUSED(aclrtMemcpy2d(a, 1, b, 1, 2, 2, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE), ACL_ERROR_INVALID_PARAM, "kind");
  EXPECT_REFUSED(aclrtMemcpy2d(a, 1, b, 2, 2, 2, ACL_MEMCPY_DEFAULT), ACL_ERROR_INVALID_PARAM, "width is 2");
  EXPECT_REFUSED(aclrtMemcpy2dAsync(a, 2, b, 1, 2, 2, ACL_MEMCPY_DEFAULT, nullptr), ACL_ERROR_INVALID_PARAM, "spitch");
  // Two pitches of this size would wrap around to a.
  EXPECT_REFUSED(aclrtMemcpy2d(a, SIZE_MAX / 2 + 1, b, 2, 2, 3, ACL_MEMCPY_DEFAULT), ACL_ERROR_INVALID_PARAM, "height");
  EXPECT_REFUSED(aclrtMemcpy2dAsync(a, 2, b, 2, 2, 2, ACL_MEMCPY_DEFAULT, kGarbage[0]), ACL_ERROR_RT_INVALID_HANDLE,
                 "stream");
}

// A batch of two copies between arrays, whose parts a test spoils one by one.
struct TwoCopies {
  char from[2][4] = {{1, 1, 1, 1}, {2, 2, 2, 2}};
  char to[2][4] = {};
  void* dsts[2] = {to[0], to[1]};
  void* srcs[2] = {from[0], from[1]};
  size_t rooms[2] = {4, 4};
  size_t sizes[2] = {4, 3};
  aclrtMemcpyBatchAttr attrs[1] = {};
  size_t starts[1] = {0};
  size_t fail = 77;

  aclError Copy() { return aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 2, attrs, starts, 1, &fail); }
};

TEST_F(CopyTest, OfABatchCopiesAll) {
  TwoCopies now;
  EXPECT_EQ(now.Copy(), ACL_SUCCESS);
  EXPECT_EQ(now.to[0][3], 1);
  EXPECT_EQ(now.to[1][2], 2);
  EXPECT_EQ(now.to[1][3], 0);
  TwoCopies later;
  EXPECT_EQ(aclrtMemcpyBatchAsync(later.dsts, later.rooms, later.srcs, later.sizes, 2, later.attrs, later.starts, 1,
                                  &later.fail, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(later.to[1][2], 2) << "plain host memory: done when it returns";
}

TEST_F(CopyTest, OfABatchNamesTheWrongCopyAndMakesNone) {
  TwoCopies copies;
  copies.rooms[1] = 2;
  EXPECT_REFUSED(copies.Copy(), ACL_ERROR_RT_PARAM_INVALID, "3 bytes");
  EXPECT_EQ(copies.fail, 1U);
  EXPECT_EQ(copies.to[0][0], 0);
  copies.dsts[0] = nullptr;
  EXPECT_REFUSED(copies.Copy(), ACL_ERROR_INVALID_PARAM, "dst");
  EXPECT_EQ(copies.fail, 0U);
}

TEST_F(CopyTest, OfABatchChecksItsLists) {
  TwoCopies c;
  const auto copy = [&c](void** dsts, size_t batches, size_t attributes, size_t* fail) {
    return aclrtMemcpyBatch(dsts, c.rooms, c.srcs, c.sizes, batches, c.attrs, c.starts, attributes, fail);
  };
  EXPECT_REFUSED(copy(c.dsts, 2, 1, nullptr), ACL_ERROR_INVALID_PARAM, "failIndex");
  EXPECT_REFUSED(copy(nullptr, 2, 1, &c.fail), ACL_ERROR_INVALID_PARAM, "dsts");
  EXPECT_EQ(c.fail, SIZE_MAX);
  EXPECT_REFUSED(copy(c.dsts, 0, 1, &c.fail), ACL_ERROR_INVALID_PARAM, "numBatches");
  EXPECT_REFUSED(copy(c.dsts, 2, 0, &c.fail), ACL_ERROR_INVALID_PARAM, "numAttrs");
  EXPECT_REFUSED(copy(c.dsts, 2, 3, &c.fail), ACL_ERROR_INVALID_PARAM, "numAttrs");
  c.starts[0] = 1;
  EXPECT_REFUSED(c.Copy(), ACL_ERROR_RT_PARAM_INVALID, "attrsIndexes");
  c.starts[0] = 0;
  c.attrs[0].srcLoc.type = ACL_MEM_LOCATION_TYPE_MANAGED;
  EXPECT_REFUSED(c.Copy(), ACL_ERROR_RT_PARAM_INVALID, "srcLoc");
}

TEST_F(CopyTest, SetTakesTheLowByteAndChecksInOrder) {
  unsigned char a[8] = {};
  EXPECT_EQ(aclrtMemset(a, 8, 0x1234, 5), ACL_SUCCESS);
  EXPECT_EQ(a[4], 0x34);
  EXPECT_EQ(a[5], 0);
  EXPECT_EQ(aclrtMemset(nullptr, 0, 1, 0), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtMemset(nullptr, 8, 1, 9), ACL_ERROR_INVALID_PARAM, "devPtr");
  EXPECT_REFUSED(aclrtMemset(a, 8, 1, 9), ACL_ERROR_RT_PARAM_INVALID, "count is 9");
  EXPECT_REFUSED(aclrtMemsetAsync(a, 8, 1, 9, nullptr), ACL_ERROR_RT_PARAM_INVALID, "count is 9");
  EXPECT_REFUSED(aclrtMemsetAsync(a, 8, 1, 8, kGarbage[0]), ACL_ERROR_RT_INVALID_HANDLE, "stream");
}

TEST_F(CopyTest, SetOfWordsCountsWords) {
  alignas(8) uint32_t a[4] = {};
  EXPECT_EQ(aclrtMemsetD32(a, sizeof(a), 0xDEADBEEF, 3), ACL_SUCCESS);
  EXPECT_EQ(a[2], 0xDEADBEEF);
  EXPECT_EQ(a[3], 0U);
  EXPECT_EQ(aclrtMemsetD32Async(a, sizeof(a), 7, 4, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(a[3], 7U);
  EXPECT_EQ(aclrtMemsetD32(nullptr, 0, 1, 0), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtMemsetD32(nullptr, 16, 1, 1), ACL_ERROR_INVALID_PARAM, "devPtr");
  EXPECT_REFUSED(aclrtMemsetD32(a, 15, 1, 4), ACL_ERROR_RT_PARAM_INVALID, "N is 4");
  EXPECT_REFUSED(aclrtMemsetD32(a, 16, 1, ~size_t{0}), ACL_ERROR_RT_PARAM_INVALID, "N");
  EXPECT_REFUSED(aclrtMemsetD32(reinterpret_cast<char*>(a) + 1, 8, 1, 1), ACL_ERROR_RT_PARAM_INVALID, "multiple of 4");
}

}  // namespace
}  // namespace canopy::ascendcl
