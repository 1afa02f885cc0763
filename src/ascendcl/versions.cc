// SPDX-License-Identifier: Apache-2.0
// Which release of CANN a program talks to, as far as Canopy follows it.
#include <cstdio>
#include <cstring>

#include "acl/acl_rt.h"
#include "ascendcl/boundary.h"

namespace canopy::ascendcl {
namespace {

// Clients leave out what is not wanted (null outputs for gradients that are masked off) from 8.5.1 on.
constexpr int kMajor = 9;
constexpr int kMinor = 0;
constexpr int kRelease = 0;
constexpr const char* kVersion = "9.0.0";

constexpr const char* kPackages[] = {"cann", "runtime", "compiler", "hccl", "toolkit", "opp", "opp_kernel", "driver"};

base::Status CheckPackage(const char* name) {
  if (name == nullptr) return RefuseNull("pkgName");
  for (const char* package : kPackages) {
    if (std::strcmp(name, package) == 0) return base::Status();
  }
  return Refuse(ACL_ERROR_INVALID_PARAM,
                "pkgName is \"%.100s\"; allowed are cann, runtime, compiler, hccl, toolkit, opp, opp_kernel, driver",
                name);
}

}  // namespace
}  // namespace canopy::ascendcl

namespace ascendcl = canopy::ascendcl;
using canopy::base::Status;

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  return ascendcl::Boundary("aclrtGetVersion", [=]() -> Status {
    if (majorVersion == nullptr) return ascendcl::RefuseNull("majorVersion");
    if (minorVersion == nullptr) return ascendcl::RefuseNull("minorVersion");
    if (patchVersion == nullptr) return ascendcl::RefuseNull("patchVersion");
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return Status();
  });
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  return ascendcl::Boundary("aclsysGetCANNVersion", [=]() -> Status {
    if (name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER) {
      return ascendcl::Refuse(ACL_ERROR_INVALID_PARAM, "name is %d; allowed are 0 to 7 of aclCANNPackageName",
                              static_cast<int>(name));
    }
    if (version == nullptr) return ascendcl::RefuseNull("version");
    *version = aclCANNPackageVersion{};
    std::snprintf(version->version, sizeof(version->version), "%s", ascendcl::kVersion);
    std::snprintf(version->majorVersion, sizeof(version->majorVersion), "%d", ascendcl::kMajor);
    std::snprintf(version->minorVersion, sizeof(version->minorVersion), "%d", ascendcl::kMinor);
    std::snprintf(version->releaseVersion, sizeof(version->releaseVersion), "%d", ascendcl::kRelease);
    return Status();
  });
}

aclError aclsysGetVersionStr(char* pkgName, char* versionStr) {
  return ascendcl::Boundary("aclsysGetVersionStr", [=]() -> Status {
    CANOPY_RETURN_IF_ERROR(ascendcl::CheckPackage(pkgName));
    if (versionStr == nullptr) return ascendcl::RefuseNull("versionStr");
    std::snprintf(versionStr, ACL_PKG_VERSION_MAX_SIZE, "%s", ascendcl::kVersion);
    return Status();
  });
}

aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum) {
  return ascendcl::Boundary("aclsysGetVersionNum", [=]() -> Status {
    CANOPY_RETURN_IF_ERROR(ascendcl::CheckPackage(pkgName));
    if (versionNum == nullptr) return ascendcl::RefuseNull("versionNum");
    *versionNum = ascendcl::kMajor * 10'000'000 + ascendcl::kMinor * 100'000 + ascendcl::kRelease * 1'000;
    return Status();
  });
}
