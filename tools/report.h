// SPDX-License-Identifier: Apache-2.0
// What a check found, for people (a table), for spreadsheets (CSV, a row an output) and for programs (JSON, an object
// a line and output).
#ifndef CANOPY_TOOLS_REPORT_H_
#define CANOPY_TOOLS_REPORT_H_

#include <cstdio>
#include <string>

#include "tools/check_case.h"

namespace canopy::tools {

// "2x64x56x56", and the multi-index of an element "[0,3,1,5]".
std::string ShapeText(const Extents& shape);
std::string IndexText(const Extents& shape, int64_t index);

enum class Detail {
  kFailures,  // nothing of what passed
  kTable,
  kAll,  // worst elements and histograms of everything
};

void PrintCaseReport(std::FILE* out, const Case& a_case, const CaseReport& report, Detail detail);

// The lines below an output's row: worst elements with their indices, and a histogram.
void PrintWorst(std::FILE* out, const Errors& errors, const Extents& shape);
void PrintHistogram(std::FILE* out, const Errors& errors);
// The header of the columns, and the columns of one output.
void PrintErrorsHeader(std::FILE* out, const char* indent);
void PrintErrors(std::FILE* out, const Errors& errors);

// A report's file: '-' is standard output, an empty path none. Throws BadInput where it cannot be written.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::FILE* get() const { return file_; }

 private:
  std::FILE* file_ = nullptr;
};

void WriteCsvHeader(std::FILE* out);
void WriteCsv(std::FILE* out, const Case& a_case, const CaseReport& report);
void WriteJson(std::FILE* out, const Case& a_case, const CaseReport& report);

}  // namespace canopy::tools

#endif  // CANOPY_TOOLS_REPORT_H_
