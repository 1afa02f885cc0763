// SPDX-License-Identifier: Apache-2.0
// A status code of the public API with the sentence that explains it. Inside the library every function that can
// refuse returns one; the C surface returns the code and files the sentence under aclGetRecentErrMsg.
#ifndef CANOPY_BASE_STATUS_H_
#define CANOPY_BASE_STATUS_H_

#include <string>
#include <utility>

namespace canopy::base {

class [[nodiscard]] Status {
 public:
  Status() = default;
  // REQUIRES: code != 0. `message` names the argument, what it was and what is allowed.
  Status(int code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == 0; }
  int code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  int code_ = 0;
  std::string message_;
};

}  // namespace canopy::base

// Returns early with the first failure.
#define CANOPY_RETURN_IF_ERROR(expr)                 \
  do {                                               \
    ::canopy::base::Status canopy_status_ = (expr);  \
    if (!canopy_status_.ok()) return canopy_status_; \
  } while (false)

#endif  // CANOPY_BASE_STATUS_H_
