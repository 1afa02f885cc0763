// SPDX-License-Identifier: Apache-2.0
// What belongs to the whole process: aclInit and its file, the chip, error texts, exit. Each test runs its statements
// in a fresh process.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "ascendcl/error_message.h"
#include "tests/ascendcl/runtime_fixture.h"

namespace canopy::ascendcl {
namespace {

// In a process of a test: leaves with a code that says which line was not as expected.
#define REQUIRE(condition)                                                                     \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      std::fprintf(stderr, "line %d: %s; %s\n", __LINE__, #condition, RecentErrors().c_str()); \
      std::_Exit(99);                                                                          \
    }                                                                                          \
  } while (false)

// A file in memory: it goes away with its process, which here often ends without destructors.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text)
      : file_(memfd_create("config", MFD_CLOEXEC)), name_("/proc/self/fd/" + std::to_string(file_)) {
    EXPECT_EQ(write(file_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  ~ConfigFile() { close(file_); }
  const char* name() const { return name_.c_str(); }

 private:
  int file_;
  std::string name_;
};

class ProcessTest : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }

  // Runs `body` in a fresh process.
  template <typename Body>
  static void InProcess(Body&& body) {
    EXPECT_EXIT((body(), std::exit(0)), testing::ExitedWithCode(0), "");
  }
};

TEST_F(ProcessTest, InitCountsAndFinalizeEndsWhateverTheCount) {
  InProcess([] {
    REQUIRE(aclInit(nullptr) == ACL_SUCCESS);
    REQUIRE(aclInit("") == ACL_ERROR_REPEAT_INITIALIZE);
    REQUIRE(aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE);
    REQUIRE(aclFinalize() == ACL_SUCCESS);
    REQUIRE(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);
    REQUIRE(aclInit(nullptr) == ACL_SUCCESS);
    REQUIRE(aclFinalize() == ACL_SUCCESS);
  });
}

TEST_F(ProcessTest, FinalizeBeforeAnyInitSucceedsOnce) {
  InProcess([] {
    REQUIRE(aclFinalize() == ACL_SUCCESS);
    REQUIRE(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);
  });
}

TEST_F(ProcessTest, FinalizeReferenceTakesOneInitBack) {
  InProcess([] {
    uint64_t left = 77;
    REQUIRE(aclFinalizeReference(&left) == ACL_ERROR_REPEAT_FINALIZE);
    REQUIRE(left == 0);
    REQUIRE(aclInit(nullptr) == ACL_SUCCESS);
    REQUIRE(aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE);
    REQUIRE(aclFinalizeReference(&left) == ACL_SUCCESS);
    REQUIRE(left == 1);
    REQUIRE(aclFinalizeReference(nullptr) == ACL_SUCCESS);
    REQUIRE(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);
  });
}

TEST_F(ProcessTest, ConfigThatCannotBeReadOrParsedIsRefused) {
  const ConfigFile text("not json");
  const ConfigFile list("[1]");
  const ConfigFile deep(R"({"a":[[[[[[[[[[1]]]]]]]]]]})");
  const ConfigFile brackets_in_text(R"({"a":"[[[[[[[[[[[[\"[[[["})");
  InProcess([&] {
    REQUIRE(aclInit("/nonexistent/file.json") == ACL_ERROR_INVALID_FILE);
    REQUIRE(aclInit("/tmp") == ACL_ERROR_INVALID_FILE);
    REQUIRE(aclInit(text.name()) == ACL_ERROR_PARSE_FILE);
    REQUIRE(aclInit(list.name()) == ACL_ERROR_PARSE_FILE);
    REQUIRE(aclInit(deep.name()) == ACL_ERROR_PARSE_FILE);
    REQUIRE(aclInit(brackets_in_text.name()) == ACL_SUCCESS);
  });
}

TEST_F(ProcessTest, ConfigOfTenLevelsAndUnknownKeysIsTaken) {
  const ConfigFile config(R"({"dump":[[[[[[[[[1]]]]]]]]], "profiler":{"switch":"off"}})");
  InProcess([&] { REQUIRE(aclInit(config.name()) == ACL_SUCCESS); });
}

TEST_F(ProcessTest, ConfigMayNotChangeDuringTheProcess) {
  const ConfigFile first(R"({"a": 1})");
  const ConfigFile same(R"({ "a":1 })");
  const ConfigFile other(R"({"a": 2})");
  InProcess([&] {
    REQUIRE(aclInit(first.name()) == ACL_SUCCESS);
    REQUIRE(aclInit(other.name()) == ACL_ERROR_INVALID_PARAM);
    REQUIRE(aclInit(same.name()) == ACL_ERROR_REPEAT_INITIALIZE);
    REQUIRE(aclFinalize() == ACL_SUCCESS);
    REQUIRE(aclInit(nullptr) == ACL_ERROR_INVALID_PARAM);
    REQUIRE(aclInit(first.name()) == ACL_SUCCESS);
  });
}

TEST_F(ProcessTest, AnEmptyObjectIsTheSameAsNoConfig) {
  const ConfigFile empty("{}");
  InProcess([&] {
    REQUIRE(aclInit(nullptr) == ACL_SUCCESS);
    REQUIRE(aclInit(empty.name()) == ACL_ERROR_REPEAT_INITIALIZE);
  });
}

TEST_F(ProcessTest, WrongValuesOfKeysAreRefused) {
  for (const char* text : {R"({"err_msg_mode":"2"})", R"({"err_msg_mode":0})", R"({"defaultDevice":3})",
                           R"({"defaultDevice":{"default_device":"x"}})", R"({"defaultDevice":{}})"}) {
    const ConfigFile config(text);
    InProcess([&] { REQUIRE(aclInit(config.name()) == ACL_ERROR_INVALID_PARAM); });
  }
  const ConfigFile no_such_device(R"({"defaultDevice":{"default_device":"99"}})");
  InProcess([&] { REQUIRE(aclInit(no_such_device.name()) == ACL_ERROR_RT_INVALID_DEVICEID); });
}

TEST_F(ProcessTest, DefaultDeviceServesThreadsThatSetNone) {
  const ConfigFile config(R"({"defaultDevice":{"default_device":"1"}})");
  InProcess([&] {
    setenv("CANOPY_DEVICE_COUNT", "2", 1);
    int32_t device = -1;
    REQUIRE(aclrtGetDevice(&device) == ACL_ERROR_RT_CONTEXT_NULL);
    REQUIRE(aclInit(config.name()) == ACL_SUCCESS);
    REQUIRE(aclrtGetDevice(&device) == ACL_SUCCESS);
    REQUIRE(device == 1);
    std::thread([&] {
      aclrtStream stream = nullptr;
      REQUIRE(aclrtCreateStream(&stream) == ACL_SUCCESS);
      REQUIRE(aclrtDestroyStream(stream) == ACL_SUCCESS);
    }).join();
  });
}

TEST_F(ProcessTest, ErrorTextsBelongToTheThreadByDefaultAndToTheProcessByConfig) {
  const ConfigFile config(R"({"err_msg_mode":"1"})");
  InProcess([&] {
    REQUIRE(aclInit(nullptr) == ACL_SUCCESS);
    std::thread([] { aclrtFree(nullptr); }).join();
    REQUIRE(aclGetRecentErrMsg() == nullptr);
  });
  InProcess([&] {
    REQUIRE(aclInit(config.name()) == ACL_SUCCESS);
    std::thread([] { aclrtFree(nullptr); }).join();
    const char* text = aclGetRecentErrMsg();
    REQUIRE(text != nullptr && std::string(text).find("aclrtFree") != std::string::npos);
    REQUIRE(aclGetRecentErrMsg() == nullptr);
  });
}

TEST_F(ProcessTest, AnUnknownChipIsRefusedWithAListOfTheKnown) {
  InProcess([] {
    setenv("CANOPY_SOC", "Ascend999", 1);
    REQUIRE(aclInit(nullptr) == ACL_ERROR_RT_SOC_VERSION);
    const std::string text = RecentErrors();
    REQUIRE(text.find("Ascend999") != std::string::npos);
    REQUIRE(text.find("Ascend910B1") != std::string::npos);
    REQUIRE(text.find("Ascend950DT_950y") != std::string::npos);
    REQUIRE(aclrtSetDevice(0) == ACL_ERROR_RT_SOC_VERSION);
    aclrtContext context = nullptr;
    REQUIRE(aclrtCreateContext(&context, 0) == ACL_ERROR_RT_SOC_VERSION);
    REQUIRE(aclrtGetSocName() == nullptr);
    REQUIRE(aclFinalize() == ACL_SUCCESS);
  });
}

TEST_F(ProcessTest, AFamilyNameGivesAFullName) {
  InProcess([] {
    setenv("CANOPY_SOC", "Ascend310P", 1);
    REQUIRE(std::string(aclrtGetSocName()) == "Ascend310P3");
    int32_t value = -1;
    REQUIRE(aclGetCannAttribute(ACL_CANN_ATTR_BF16, &value) == ACL_SUCCESS && value == 0);
    size_t count = 7;
    const aclCannAttr* list = nullptr;
    REQUIRE(aclGetCannAttributeList(&list, &count) == ACL_SUCCESS && count == 0);
  });
}

TEST_F(ProcessTest, OverflowModesAreThoseOfTheChip) {
  const struct {
    const char* soc;
    aclrtFloatOverflowMode usual;
    aclError other;
  } kChips[] = {{"Ascend910B1", ACL_RT_OVERFLOW_MODE_INFNAN, ACL_SUCCESS},
                {"Ascend910A", ACL_RT_OVERFLOW_MODE_SATURATION, ACL_ERROR_RT_FEATURE_NOT_SUPPORT},
                {"Ascend310B1", ACL_RT_OVERFLOW_MODE_SATURATION, ACL_ERROR_RT_FEATURE_NOT_SUPPORT},
                {"Ascend950", ACL_RT_OVERFLOW_MODE_INFNAN, ACL_ERROR_RT_FEATURE_NOT_SUPPORT}};
  for (const auto& chip : kChips) {
    InProcess([&] {
      setenv("CANOPY_SOC", chip.soc, 1);
      REQUIRE(aclrtSetDevice(0) == ACL_SUCCESS);
      aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
      REQUIRE(aclrtGetDeviceSatMode(&mode) == ACL_SUCCESS && mode == chip.usual);
      REQUIRE(aclrtSetDeviceSatMode(chip.usual) == ACL_SUCCESS);
      const auto other =
          chip.usual == ACL_RT_OVERFLOW_MODE_INFNAN ? ACL_RT_OVERFLOW_MODE_SATURATION : ACL_RT_OVERFLOW_MODE_INFNAN;
      REQUIRE(aclrtSetDeviceSatMode(other) == chip.other);
    });
  }
}

TEST_F(ProcessTest, AWrongDeviceCountIsAWarningAndOneDevice) {
  InProcess([] {
    setenv("CANOPY_DEVICE_COUNT", "many", 1);
    uint32_t count = 0;
    REQUIRE(aclrtGetDeviceCount(&count) == ACL_SUCCESS && count == 1);
  });
}

// What CANN's sample programs do on failure: they clean up twice, and some pointers after everything has ended.
TEST_F(ProcessTest, TheErrorPathOfTheSamplesNeitherCrashesNorHangs) {
  InProcess([] {
    REQUIRE(aclInit(nullptr) == ACL_SUCCESS);
    REQUIRE(aclrtSetDevice(0) == ACL_SUCCESS);
    aclrtStream stream = nullptr;
    REQUIRE(aclrtCreateStream(&stream) == ACL_SUCCESS);
    void* memory = nullptr;
    REQUIRE(aclrtMalloc(&memory, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    REQUIRE(aclrtDestroyStream(stream) == ACL_SUCCESS);
    REQUIRE(aclrtResetDevice(0) == ACL_SUCCESS);
    REQUIRE(aclFinalize() == ACL_SUCCESS);
    REQUIRE(aclrtFree(memory) == ACL_SUCCESS);
    REQUIRE(aclrtDestroyStream(stream) == ACL_ERROR_RT_INVALID_HANDLE);
    REQUIRE(aclrtResetDevice(0) == ACL_ERROR_RT_CONTEXT_RELEASE_ERROR);
    REQUIRE(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);
  });
}

TEST_F(ProcessTest, CleaningUpAfterAFailedStartIsHarmless) {
  InProcess([] {
    REQUIRE(aclInit("/nonexistent") != ACL_SUCCESS);
    for (void* garbage : kGarbage) REQUIRE(aclrtDestroyStream(garbage) == ACL_ERROR_RT_INVALID_HANDLE);
    REQUIRE(aclrtResetDevice(0) == ACL_ERROR_RT_CONTEXT_RELEASE_ERROR);
    REQUIRE(aclFinalize() == ACL_SUCCESS);
  });
}

TEST_F(ProcessTest, WorkRunsAgainAfterFinalize) {
  InProcess([] {
    REQUIRE(aclInit(nullptr) == ACL_SUCCESS);
    REQUIRE(aclrtSetDevice(0) == ACL_SUCCESS);
    REQUIRE(aclFinalize() == ACL_SUCCESS);
    bool ran = false;
    Queue(nullptr, [&ran] { return ran = true, ACL_SUCCESS; });
    REQUIRE(aclrtSynchronizeStream(nullptr) == ACL_SUCCESS && ran);
  });
}

TEST_F(ProcessTest, FinalizeRunsWhatIsReady) {
  InProcess([] {
    REQUIRE(aclrtSetDevice(0) == ACL_SUCCESS);
    std::atomic<int> ran{0};
    for (int i = 0; i < 100; ++i)
      Queue(
          nullptr, [&ran] { return ++ran, ACL_SUCCESS; }, LengthInTurn(i));
    REQUIRE(aclFinalize() == ACL_SUCCESS);
    REQUIRE(ran == 100);
  });
}

TEST_F(ProcessTest, ExitWithQueuedAndRunningWorkIsClean) {
  InProcess([] {
    REQUIRE(aclrtSetDevice(0) == ACL_SUCCESS);
    const Gate never;
    aclrtStream stream = nullptr;
    REQUIRE(aclrtCreateStream(&stream) == ACL_SUCCESS);
    QueueHostGate(stream, never);
    never.AwaitArrival();
    for (int i = 0; i < 50; ++i) {
      Queue(nullptr, [] { return std::this_thread::sleep_for(std::chrono::milliseconds(1)), ACL_SUCCESS; });
      Queue(stream, [] { return ACL_SUCCESS; });
    }
    std::exit(0);
  });
}

// Objects of static storage are destroyed after the library's threads have gone: whoever waits then works itself.
TEST_F(ProcessTest, ObjectsDestroyedAtExitMayStillUseTheLibrary) {
  struct LateUser {
    ~LateUser() {
      bool ran = false;
      Queue(nullptr, [&ran] { return ran = true, ACL_SUCCESS; });
      REQUIRE(aclrtSynchronizeStream(nullptr) == ACL_SUCCESS && ran);
      REQUIRE(aclrtFree(nullptr) == ACL_ERROR_INVALID_PARAM);
      REQUIRE(aclGetRecentErrMsg() != nullptr);
      REQUIRE(aclrtFree(memory) == ACL_SUCCESS);
      REQUIRE(aclrtResetDevice(0) == ACL_SUCCESS);
    }
    void* memory = nullptr;
  };
  InProcess([] {
    static LateUser user;  // before the library registers with exit, so that it is destroyed after
    REQUIRE(aclrtSetDevice(0) == ACL_SUCCESS);
    REQUIRE(aclrtMalloc(&user.memory, 100, ACL_MEM_MALLOC_NORMAL_ONLY) == ACL_SUCCESS);
    Queue(nullptr, [] { return ACL_SUCCESS; });
    REQUIRE(aclrtSynchronizeStream(nullptr) == ACL_SUCCESS);
  });
}

}  // namespace
}  // namespace canopy::ascendcl
