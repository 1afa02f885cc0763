// SPDX-License-Identifier: Apache-2.0
// The log, switched as CANN's is: ASCEND_GLOBAL_LOG_LEVEL (0 debug, 1 info, 2 warning, 3 error, 4 none; default 3),
// ASCEND_LOG_PRINT_TO_STDOUT=1 (deprecated spelling: ASCEND_SLOG_PRINT_TO_STDOUT), ASCEND_PROCESS_LOG_PATH (a folder;
// one file a process). Without either target nothing is written anywhere: the library never prints unless asked.
#ifndef CANOPY_BASE_LOG_H_
#define CANOPY_BASE_LOG_H_

#include "base/export.h"

namespace canopy::base {

enum class LogLevel { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3 };

// Whether a message of this level would go anywhere. Cheap; ask before building an expensive text.
CANOPY_EXPORT bool LogEnabled(LogLevel level);

// One line, printf style; longer than 1024 characters is cut.
CANOPY_EXPORT __attribute__((format(printf, 2, 3))) void Log(LogLevel level, const char* format, ...);

// CANOPY_VERBOSE: 0 (default), 1 one line a call on standard error, 2 also why better algorithms refused.
CANOPY_EXPORT int Verbosity();

// One line of the CANOPY_VERBOSE stream (standard error), whatever the log level.
CANOPY_EXPORT __attribute__((format(printf, 1, 2))) void VerboseLine(const char* format, ...);

}  // namespace canopy::base

#endif  // CANOPY_BASE_LOG_H_
