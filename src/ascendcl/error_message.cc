// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/error_message.h"

#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <ctime>
#include <deque>
#include <mutex>
#include <string>

#include "acl/acl_rt.h"
#include "ascendcl/error_store.h"
#include "ascendcl/fork_locks.h"
#include "base/local_time.h"
#include "base/log.h"

namespace canopy::ascendcl {
namespace {

// A program that never fetches its errors must not grow: the oldest go.
constexpr size_t kMaxTexts = 32;

struct ErrorTexts {
  std::deque<std::string> texts;  // newest first
  std::string returned;           // what aclGetRecentErrMsg last gave out
};

// Reached through a plain pointer and freed by a thread-specific key: destructors that run when a thread or the process
// ends may still fail and file a text, after every thread_local object with a destructor is gone.
thread_local ErrorTexts* thread_texts = nullptr;

void DropThreadTexts(void*) {
  delete thread_texts;
  thread_texts = nullptr;
}

ErrorTexts& ThreadTexts() {
  static const pthread_key_t key = [] {
    pthread_key_t created = 0;
    pthread_key_create(&created, DropThreadTexts);
    return created;
  }();
  if (thread_texts == nullptr) {
    thread_texts = new ErrorTexts;
    pthread_setspecific(key, thread_texts);
  }
  return *thread_texts;
}

std::atomic<bool> per_process{false};
constinit std::mutex process_mutex;

std::deque<std::string>& ProcessTexts() {
  static auto* const texts = new std::deque<std::string>;
  return *texts;
}

const char* ClassName(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::kAclnnParameter:
      return "AclNN_Parameter_Error(EZ1001)";
    case ErrorClass::kAclnnInner:
      return "AclNN_Inner_Error(EZ9999)";
    case ErrorClass::kRuntimeValue:
      return "Invalid_Argument(EE1003)";
    case ErrorClass::kRuntimeHandle:
      return "Invalid_Handle(EE1017)";
    case ErrorClass::kRuntimeOther:
      break;
  }
  return "Runtime_Error(EE9999)";
}

std::string Headed(ErrorClass error_class, std::string_view text) {
  timeval now;
  gettimeofday(&now, nullptr);
  const base::LocalTimeText when(now.tv_sec);
  char head[128];
  std::snprintf(head, sizeof(head), "[PID:%d] %s.%03d.%03d %s: ", getpid(), when.text,
                static_cast<int>(now.tv_usec / 1000), static_cast<int>(now.tv_usec % 1000), ClassName(error_class));
  std::string headed(head);
  headed += text;
  return headed;
}

void File(std::string&& text) {
  const auto add = [&text](std::deque<std::string>& texts) {
    texts.push_front(std::move(text));
    if (texts.size() > kMaxTexts) texts.pop_back();
  };
  if (per_process.load(std::memory_order_relaxed)) {
    const std::lock_guard guard(process_mutex);
    add(ProcessTexts());
  } else {
    add(ThreadTexts().texts);
  }
}

std::string Join(const std::deque<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) {
    if (!joined.empty()) joined += '\n';
    joined += text;
  }
  return joined;
}

}  // namespace

void PushError(ErrorClass error_class, std::string_view text) noexcept {
  try {
    std::string headed = Headed(error_class, text);
    base::Log(base::LogLevel::kError, "%s", headed.c_str());
    File(std::move(headed));
  } catch (...) {  // out of memory: the status code alone has to do
  }
}

void KeepErrorsPerProcess(bool enable) noexcept { per_process.store(enable, std::memory_order_relaxed); }

std::string TakeErrors() {
  std::deque<std::string> taken;
  if (per_process.load(std::memory_order_relaxed)) {
    const std::lock_guard guard(process_mutex);
    taken.swap(ProcessTexts());
  } else {
    taken.swap(ThreadTexts().texts);
  }
  return Join(taken);
}

void RefileErrors(std::string&& texts) noexcept {
  try {
    if (!texts.empty()) File(std::move(texts));
  } catch (...) {  // as above
  }
}

void ForkErrors(ForkStep step) { FollowFork(process_mutex, step); }

}  // namespace canopy::ascendcl

const char* aclGetRecentErrMsg(void) {
  try {
    std::string& returned = canopy::ascendcl::ThreadTexts().returned;
    returned = canopy::ascendcl::TakeErrors();
    return returned.empty() ? nullptr : returned.c_str();
  } catch (...) {
    return nullptr;
  }
}
