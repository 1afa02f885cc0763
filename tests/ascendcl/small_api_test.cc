// SPDX-License-Identifier: Apache-2.0
// The functions without state: data types, data buffers, versions, attributes, capabilities, the log.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "acl/acl.h"
#include "base/cpu.h"
#include "tests/ascendcl/runtime_fixture.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // old programs call them, so they are tested

namespace canopy::ascendcl {
namespace {

TEST(DataTypeSize, FollowsTheTableAndGivesEightToTheUnknown) {
  const struct {
    int type;
    size_t bytes;
  } kSizes[] = {{-1, 0}, {0, 4},  {1, 2},  {2, 1},  {3, 4},   {4, 1},  {6, 2},  {7, 2},  {8, 4},  {9, 8},  {10, 8},
                {11, 8}, {12, 1}, {13, 0}, {16, 8}, {17, 16}, {27, 2}, {29, 1}, {30, 1}, {33, 4}, {34, 1}, {35, 1},
                {36, 1}, {37, 1}, {38, 8}, {39, 8}, {40, 8},  {41, 8}, {5, 8},  {28, 8}, {42, 8}, {-2, 8}, {1000, 8}};
  for (const auto& size : kSizes) {
    EXPECT_EQ(aclDataTypeSize(static_cast<aclDataType>(size.type)), size.bytes) << size.type;
  }
}

TEST(DataBuffer, KeepsAddressAndSize) {
  int data = 0;
  aclDataBuffer* buffer = aclCreateDataBuffer(&data, size_t{1} << 33);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), &data);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), size_t{1} << 33);
  EXPECT_EQ(aclGetDataBufferSize(buffer), 0U);
  EXPECT_EQ(aclUpdateDataBuffer(buffer, nullptr, 7), ACL_SUCCESS);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), nullptr);
  EXPECT_EQ(aclGetDataBufferSize(buffer), 7U);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
}

TEST(DataBuffer, RefusesNullAndDestroyedHandles) {
  EXPECT_REFUSED(aclDestroyDataBuffer(nullptr), ACL_ERROR_INVALID_PARAM, "dataBuffer");
  EXPECT_REFUSED(aclUpdateDataBuffer(nullptr, nullptr, 0), ACL_ERROR_INVALID_PARAM, "dataBuffer");
  EXPECT_EQ(aclGetDataBufferAddr(nullptr), nullptr);
  EXPECT_EQ(aclGetDataBufferSizeV2(nullptr), 0U);
  aclDataBuffer* buffer = aclCreateDataBuffer(nullptr, 1);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
  EXPECT_REFUSED(aclDestroyDataBuffer(buffer), ACL_ERROR_INVALID_PARAM, "dataBuffer");
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 0U);
}

TEST(Versions, AreThoseThatCanopyFollows) {
  int32_t major = 0;
  int32_t minor = 0;
  int32_t patch = -1;
  EXPECT_EQ(aclrtGetVersion(&major, &minor, &patch), ACL_SUCCESS);
  EXPECT_EQ(major, 1);
  EXPECT_EQ(minor, 17);
  EXPECT_EQ(patch, 0);
  EXPECT_REFUSED(aclrtGetVersion(&major, nullptr, &patch), ACL_ERROR_INVALID_PARAM, "minorVersion");
}

// Clients compare with 8.5.1 to know whether gradients that are masked off may be null.
TEST(Versions, OfPackagesAreNotOlderThan851) {
  aclCANNPackageVersion version;
  ASSERT_EQ(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &version), ACL_SUCCESS);
  const std::string parts =
      std::string(version.majorVersion) + "." + version.minorVersion + "." + version.releaseVersion;
  EXPECT_EQ(parts, version.version);
  char text[ACL_PKG_VERSION_MAX_SIZE];
  char runtime[] = "runtime";
  ASSERT_EQ(aclsysGetVersionStr(runtime, text), ACL_SUCCESS);
  EXPECT_STREQ(text, version.version);
  int32_t number = 0;
  ASSERT_EQ(aclsysGetVersionNum(runtime, &number), ACL_SUCCESS);
  EXPECT_GE(number, 80501000);
}

TEST(Versions, RefuseUnknownPackagesAndNulls) {
  aclCANNPackageVersion version;
  char text[ACL_PKG_VERSION_MAX_SIZE];
  char unknown[] = "nothing";
  int32_t number = 0;
  EXPECT_REFUSED(aclsysGetCANNVersion(static_cast<aclCANNPackageName>(8), &version), ACL_ERROR_INVALID_PARAM, "name");
  EXPECT_REFUSED(aclsysGetCANNVersion(ACL_PKG_NAME_OPP, nullptr), ACL_ERROR_INVALID_PARAM, "version");
  EXPECT_REFUSED(aclsysGetVersionStr(unknown, text), ACL_ERROR_INVALID_PARAM, "nothing");
  EXPECT_REFUSED(aclsysGetVersionStr(nullptr, text), ACL_ERROR_INVALID_PARAM, "pkgName");
  EXPECT_REFUSED(aclsysGetVersionNum(unknown, &number), ACL_ERROR_INVALID_PARAM, "nothing");
}

TEST(CannAttributes, AreThoseOfTheDefaultChip) {
  int32_t value = -1;
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_INF_NAN, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_BF16, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_JIT_COMPILE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 0);
  const aclCannAttr* list = nullptr;
  size_t count = 0;
  EXPECT_EQ(aclGetCannAttributeList(&list, &count), ACL_SUCCESS);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(list[0], ACL_CANN_ATTR_INF_NAN);
  EXPECT_EQ(list[1], ACL_CANN_ATTR_BF16);
}

TEST(CannAttributes, RefuseTheUnknownAndNulls) {
  int32_t value = 0;
  EXPECT_REFUSED(aclGetCannAttribute(ACL_CANN_ATTR_UNDEFINED, &value), ACL_ERROR_INVALID_PARAM, "cannAttr");
  EXPECT_REFUSED(aclGetCannAttribute(ACL_CANN_ATTR_BF16, nullptr), ACL_ERROR_INVALID_PARAM, "value");
  EXPECT_REFUSED(aclGetCannAttributeList(nullptr, nullptr), ACL_ERROR_INVALID_PARAM, "cannAttrList");
}

TEST(DeviceCapability, IsThisComputers) {
  int64_t value = 0;
  EXPECT_EQ(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &value), ACL_SUCCESS);
  EXPECT_EQ(value, base::DefaultThreadCount());
  EXPECT_EQ(aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, &value), ACL_SUCCESS);
  EXPECT_GT(value, 0);
  EXPECT_REFUSED(aclGetDeviceCapability(99, ACL_DEVICE_INFO_L2_SIZE, &value), ACL_ERROR_INVALID_PARAM, "deviceId");
  EXPECT_REFUSED(aclGetDeviceCapability(0, ACL_DEVICE_INFO_UNDEFINED, &value), ACL_ERROR_INVALID_PARAM, "deviceInfo");
  EXPECT_REFUSED(aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, nullptr), ACL_ERROR_INVALID_PARAM, "value");
}

TEST(DeviceInfo, KnowsEveryAttributeAndNoOther) {
  int64_t value = 0;
  for (const int attribute : {1, 101, 102, 201, 202, 301, 302, 401, 402, 403, 404, 405, 406, 407, 408, 409, 501, 601}) {
    EXPECT_EQ(aclrtGetDeviceInfo(0, static_cast<aclrtDevAttr>(attribute), &value), ACL_SUCCESS) << attribute;
  }
  EXPECT_EQ(value, 2201);  // the architecture of the default chip
  EXPECT_REFUSED(aclrtGetDeviceInfo(0, static_cast<aclrtDevAttr>(0), &value), ACL_ERROR_INVALID_PARAM, "attr");
  EXPECT_REFUSED(aclrtGetDeviceInfo(99, ACL_DEV_ATTR_NPU_ARCH, &value), ACL_ERROR_RT_INVALID_DEVICEID, "deviceId");
}

TEST(SocName, IsTheDefaultChip) { EXPECT_STREQ(aclrtGetSocName(), "Ascend910B1"); }

TEST(AppLog, TakesAnyTextAndAnyLevel) {
  const std::string large(5000, 'x');
  ACL_APP_LOG(ACL_ERROR, "%s %d", large.c_str(), 1);
  ACL_APP_LOG(ACL_INFO, "no arguments");
  aclAppLog(static_cast<aclLogLevel>(77), nullptr, nullptr, 0, "%s", "x");
  aclAppLog(ACL_ERROR, "f", "file", 1, nullptr);
}

}  // namespace
}  // namespace canopy::ascendcl
