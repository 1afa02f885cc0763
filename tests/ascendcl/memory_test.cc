// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "ascendcl/memory_blocks.h"
#include "tests/ascendcl/memory_fixture.h"

namespace canopy::ascendcl {
namespace {

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
  // No computer has as much, which is a lack of memory all the same.
  EXPECT_REFUSED(aclrtMalloc(&pointer, size_t{1} << 50, kPolicy), ACL_ERROR_RT_MEMORY_ALLOCATION, "this computer");
  EXPECT_REFUSED(aclrtMalloc(&pointer, std::numeric_limits<size_t>::max() - 63, kPolicy),
                 ACL_ERROR_RT_MEMORY_ALLOCATION, "this computer");
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

}  // namespace
}  // namespace canopy::ascendcl
