// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "ascendcl/memory_blocks.h"
#include "tests/ascendcl/runtime_fixture.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // aclrtMemcpyAsyncWithCondition

namespace canopy::ascendcl {
namespace {

constexpr auto kPolicy = ACL_MEM_MALLOC_HUGE_FIRST;

class MemoryTest : public RuntimeTest {
 protected:
  // Device memory that goes with the test.
  void* Device(size_t bytes) {
    void* pointer = nullptr;
    EXPECT_EQ(aclrtMalloc(&pointer, bytes, kPolicy), ACL_SUCCESS) << RecentErrors();
    device_.emplace_back(pointer, aclrtFree);
    return pointer;
  }
  static aclrtMemLocationType LocationOf(const void* pointer) {
    aclrtPtrAttributes attributes{};
    EXPECT_EQ(aclrtPointerGetAttributes(pointer, &attributes), ACL_SUCCESS) << RecentErrors();
    return attributes.location.type;
  }

 private:
  std::vector<std::unique_ptr<void, aclError (*)(void*)>> device_;
};

TEST_F(MemoryTest, IsAlignedWritableAndFreedOnce) {
  // around cache lines, pages and huge pages
  for (const size_t bytes : {size_t{1}, size_t{31}, size_t{32}, size_t{64}, size_t{4095}, size_t{4096}, size_t{100'000},
                             (size_t{2} << 20) - 1, size_t{2} << 20, (size_t{2} << 20) + 1, size_t{5'000'000}}) {
    for (const int policy : {0, 1, 2, 3, 4, 5, 6, 7, 0x1000, 0x100, 999}) {
      void* pointer = nullptr;
      ASSERT_EQ(aclrtMalloc(&pointer, bytes, static_cast<aclrtMemMallocPolicy>(policy)), ACL_SUCCESS);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(pointer) % 64, 0U);
      std::memset(pointer, 0x5A, bytes);
      EXPECT_EQ(aclrtFree(pointer), ACL_SUCCESS);
      EXPECT_REFUSED(aclrtFree(pointer), ACL_ERROR_RT_PARAM_INVALID, "freed already");
    }
  }
}

TEST_F(MemoryTest, OfEverySiblingIsChecked) {
  void* pointer = nullptr;
  aclrtMallocConfig broken{nullptr, 1};
  aclrtMallocAttribute attribute{ACL_RT_MEM_ATTR_MODULE_ID, {}};
  aclrtMallocConfig config{&attribute, 1};
  EXPECT_EQ(aclrtMallocAlign32(&pointer, 10, kPolicy), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(pointer), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocCached(&pointer, 10, kPolicy), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(pointer), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocWithCfg(&pointer, 10, kPolicy, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(pointer), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocForTaskScheduler(&pointer, 10, kPolicy, &config), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeWithDevSync(pointer), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocHost(&pointer, 10), ACL_SUCCESS);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pointer) % 64, 0U);
  EXPECT_EQ(aclrtFreeHost(pointer), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocHostWithCfg(&pointer, 10, &config), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHostWithDevSync(pointer), ACL_SUCCESS);

  EXPECT_REFUSED(aclrtMalloc(nullptr, 10, kPolicy), ACL_ERROR_INVALID_PARAM, "devPtr");
  EXPECT_REFUSED(aclrtMalloc(&pointer, 0, kPolicy), ACL_ERROR_INVALID_PARAM, "size is 0");
  EXPECT_REFUSED(aclrtMallocAlign32(&pointer, 0, kPolicy), ACL_ERROR_INVALID_PARAM, "size is 0");
  EXPECT_REFUSED(aclrtMallocCached(nullptr, 1, kPolicy), ACL_ERROR_INVALID_PARAM, "devPtr");
  EXPECT_REFUSED(aclrtMallocWithCfg(&pointer, 10, kPolicy, &broken), ACL_ERROR_INVALID_PARAM, "attrs");
  EXPECT_REFUSED(aclrtMallocForTaskScheduler(&pointer, 10, kPolicy, &broken), ACL_ERROR_INVALID_PARAM, "attrs");
  EXPECT_REFUSED(aclrtMallocHost(nullptr, 10), ACL_ERROR_INVALID_PARAM, "hostPtr");
  EXPECT_REFUSED(aclrtMallocHost(&pointer, 0), ACL_ERROR_INVALID_PARAM, "size is 0");
  EXPECT_REFUSED(aclrtMallocHostWithCfg(&pointer, 10, &broken), ACL_ERROR_INVALID_PARAM, "attrs");
  std::thread([] {
    void* none = nullptr;
    EXPECT_REFUSED(aclrtMalloc(&none, 10, kPolicy), ACL_ERROR_RT_CONTEXT_NULL, "context");
  }).join();
}

TEST_F(MemoryTest, FreeRefusesWhatItDidNotGive) {
  int local = 0;
  char* block = static_cast<char*>(Device(100));
  void* host = nullptr;
  ASSERT_EQ(aclrtMallocHost(&host, 10), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM, "devPtr");
  EXPECT_REFUSED(aclrtFreeWithDevSync(nullptr), ACL_ERROR_INVALID_PARAM, "devPtr");
  EXPECT_REFUSED(aclrtFreeHost(nullptr), ACL_ERROR_INVALID_PARAM, "hostPtr");
  EXPECT_REFUSED(aclrtFreeHostWithDevSync(nullptr), ACL_ERROR_INVALID_PARAM, "hostPtr");
  EXPECT_REFUSED(aclrtFree(&local), ACL_ERROR_RT_PARAM_INVALID, "did not return");
  EXPECT_REFUSED(aclrtFree(block + 64), ACL_ERROR_RT_PARAM_INVALID, "inside of the block");
  EXPECT_REFUSED(aclrtFree(host), ACL_ERROR_RT_PARAM_INVALID, "host memory");
  EXPECT_REFUSED(aclrtFreeHost(block), ACL_ERROR_RT_PARAM_INVALID, "device memory");
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
}

TEST_F(MemoryTest, ThatTheComputerHasNotGotIsRefused) {
  void* pointer = nullptr;
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtMalloc(&pointer, total_bytes + 1, kPolicy), ACL_ERROR_RT_MEMORY_ALLOCATION, "this computer");
  EXPECT_REFUSED(aclrtMallocHost(&pointer, size_t{1} << 47), ACL_ERROR_RT_MEMORY_ALLOCATION, "this computer");
  EXPECT_REFUSED(aclrtMalloc(&pointer, std::numeric_limits<size_t>::max(), kPolicy), ACL_ERROR_INVALID_PARAM, "size");
  EXPECT_REFUSED(aclrtMalloc(&pointer, std::numeric_limits<size_t>::max() - 31, kPolicy), ACL_ERROR_INVALID_PARAM,
                 "size");
}

// Linux would promise the same memory again and again, and kill whoever uses it.
TEST_F(MemoryTest, IsNotPromisedTwice) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes), ACL_SUCCESS);
  std::vector<void*> blocks;
  aclError error = ACL_SUCCESS;
  for (int i = 0; i < 20 && error == ACL_SUCCESS; ++i) {
    void* pointer = nullptr;
    error = aclrtMalloc(&pointer, total_bytes / 8, ACL_MEM_MALLOC_NORMAL_ONLY);
    if (error == ACL_SUCCESS) blocks.push_back(pointer);
  }
  EXPECT_EQ(error, ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_LE(blocks.size(), 8U);
  for (void* block : blocks) EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
}

TEST_F(MemoryTest, InfoIsTrueAndFollowsWhatIsHandedOut) {
  size_t free_before = 0;
  size_t free_after = 0;
  size_t total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total), ACL_SUCCESS);
  EXPECT_GT(free_before, 0U);
  EXPECT_LE(free_before, total);
  EXPECT_EQ(aclrtGetMemInfo(ACL_DDR_MEM, &free_after, &total), ACL_SUCCESS);
  EXPECT_GT(total, 0U);
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM_HUGE1G, &free_after, &total), ACL_SUCCESS);
  EXPECT_EQ(total, 0U);
  EXPECT_EQ(aclrtGetMemInfo(static_cast<aclrtMemAttr>(99), &free_after, &total), ACL_SUCCESS);
  EXPECT_EQ(total, 0U);
  EXPECT_REFUSED(aclrtGetMemInfo(ACL_HBM_MEM, nullptr, &total), ACL_ERROR_INVALID_PARAM, "free");
  EXPECT_REFUSED(aclrtGetMemInfo(ACL_HBM_MEM, &free_after, nullptr), ACL_ERROR_INVALID_PARAM, "total");
}

TEST_F(MemoryTest, UsageInfoCountsDeviceMemory) {
  aclrtMemUsageInfo info{};
  size_t count = 0;
  ASSERT_EQ(aclrtGetMemUsageInfo(0, &info, 1, &count), ACL_SUCCESS);
  const uint64_t before = info.curMemSize;
  Device(12345);
  ASSERT_EQ(aclrtGetMemUsageInfo(0, &info, 1, &count), ACL_SUCCESS);
  EXPECT_EQ(count, 1U);
  EXPECT_STREQ(info.name, "APP");
  EXPECT_EQ(info.curMemSize, before + 12345);
  EXPECT_GE(info.memPeakSize, info.curMemSize);
  EXPECT_REFUSED(aclrtGetMemUsageInfo(0, &info, 0, &count), ACL_ERROR_INVALID_PARAM, "inputNum");
  EXPECT_REFUSED(aclrtGetMemUsageInfo(0, nullptr, 1, &count), ACL_ERROR_INVALID_PARAM, "memUsageInfo");
  EXPECT_REFUSED(aclrtGetMemUsageInfo(0, &info, 1, nullptr), ACL_ERROR_INVALID_PARAM, "outputNum");
  EXPECT_REFUSED(aclrtGetMemUsageInfo(2, &info, 1, &count), ACL_ERROR_RT_INVALID_DEVICEID, "deviceId");
}

TEST_F(MemoryTest, BlocksAreFoundByAnyAddressInside) {
  char* block = static_cast<char*>(Device(1000));
  MemoryBlock found;
  for (const size_t offset : {0, 1, 999, 1000}) {
    ASSERT_TRUE(FindMemoryBlock(block + offset, &found)) << offset;
    EXPECT_EQ(found.base, block);
    EXPECT_EQ(found.bytes, 1000U);
    EXPECT_TRUE(found.device);
  }
  EXPECT_FALSE(FindMemoryBlock(&found, &found));
  EXPECT_FALSE(FindMemoryBlock(nullptr, &found));
}

TEST_F(MemoryTest, AddressesTellWhatTheyAre) {
  int local = 0;
  void* host = nullptr;
  ASSERT_EQ(aclrtMallocHost(&host, 10), ACL_SUCCESS);
  char* block = static_cast<char*>(Device(100));
  EXPECT_EQ(LocationOf(block + 99), ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(LocationOf(block + 100), ACL_MEM_LOCATION_TYPE_UNREGISTERED) << "one past the end";
  EXPECT_EQ(LocationOf(host), ACL_MEM_LOCATION_TYPE_HOST);
  EXPECT_EQ(LocationOf(&local), ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  aclrtPtrAttributes attributes{};
  EXPECT_REFUSED(aclrtPointerGetAttributes(nullptr, &attributes), ACL_ERROR_INVALID_PARAM, "ptr");
  EXPECT_REFUSED(aclrtPointerGetAttributes(&local, nullptr), ACL_ERROR_INVALID_PARAM, "attributes");
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
  EXPECT_EQ(LocationOf(host), ACL_MEM_LOCATION_TYPE_UNREGISTERED);
}

TEST_F(MemoryTest, OfTheProgramIsRegisteredAndForgotten) {
  std::vector<char> own(1000);
  void* device = nullptr;
  ASSERT_EQ(aclrtHostRegister(own.data(), own.size(), ACL_HOST_REGISTER_MAPPED, &device), ACL_SUCCESS);
  EXPECT_EQ(device, own.data());
  EXPECT_EQ(LocationOf(own.data() + 500), ACL_MEM_LOCATION_TYPE_HOST);
  device = nullptr;
  EXPECT_EQ(aclrtHostGetDevicePointer(own.data() + 4, &device, 0), ACL_SUCCESS);
  EXPECT_EQ(device, own.data() + 4);
  EXPECT_REFUSED(aclrtHostGetDevicePointer(own.data(), &device, 1), ACL_ERROR_INVALID_PARAM, "flag");
  EXPECT_REFUSED(aclrtHostRegisterV2(own.data(), 10, 0), ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "known block");
  EXPECT_EQ(aclrtHostUnregister(own.data()), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtHostUnregister(own.data()), ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "not registered");
  EXPECT_REFUSED(aclrtHostGetDevicePointer(own.data(), &device, 0), ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "pHost");
  EXPECT_EQ(aclrtHostRegisterV2(own.data(), own.size(), ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED), ACL_SUCCESS);
  EXPECT_EQ(aclrtHostUnregister(own.data()), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtHostRegisterV2(own.data(), 10, 1), ACL_ERROR_INVALID_PARAM, "flag");
  EXPECT_REFUSED(aclrtHostRegister(own.data(), 10, static_cast<aclrtHostRegisterType>(1), &device),
                 ACL_ERROR_INVALID_PARAM, "type");
  EXPECT_REFUSED(aclrtHostRegister(own.data(), 10, ACL_HOST_REGISTER_MAPPED, nullptr), ACL_ERROR_INVALID_PARAM,
                 "devPtr");
  EXPECT_REFUSED(aclrtHostRegister(nullptr, 10, ACL_HOST_REGISTER_MAPPED, &device), ACL_ERROR_INVALID_PARAM, "ptr");
  EXPECT_REFUSED(aclrtHostRegister(own.data(), 0, ACL_HOST_REGISTER_MAPPED, &device), ACL_ERROR_INVALID_PARAM, "size");
  EXPECT_REFUSED(aclrtHostUnregister(nullptr), ACL_ERROR_INVALID_PARAM, "ptr");
}

TEST_F(MemoryTest, CachesAreCoherentSoFlushingOnlyChecks) {
  int local = 0;
  EXPECT_EQ(aclrtMemFlush(&local, 4), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemInvalidate(&local, 4), ACL_SUCCESS);
  EXPECT_REFUSED(aclrtMemFlush(nullptr, 4), ACL_ERROR_INVALID_PARAM, "devPtr");
  EXPECT_REFUSED(aclrtMemInvalidate(&local, 0), ACL_ERROR_INVALID_PARAM, "size");
}

TEST_F(MemoryTest, FreeWithDeviceSyncWaitsFirst) {
  int* value = static_cast<int*>(Device(4));
  void* block = nullptr;
  ASSERT_EQ(aclrtMalloc(&block, 64, kPolicy), ACL_SUCCESS);
  *value = 0;
  Queue(nullptr, [value] { return std::this_thread::yield(), *value = 1, ACL_SUCCESS; });
  EXPECT_EQ(aclrtFreeWithDevSync(block), ACL_SUCCESS);
  EXPECT_EQ(*value, 1);
}

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
