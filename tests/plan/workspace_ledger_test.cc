// SPDX-License-Identifier: Apache-2.0
#include "plan/workspace_ledger.h"

#include <gtest/gtest.h>

#include <vector>

namespace canopy::plan {
namespace {

TEST(WorkspaceLedgerTest, AnEmptyLedgerNeedsNoWorkspace) { EXPECT_EQ(WorkspaceLedger().total_bytes(), 0); }

TEST(WorkspaceLedgerTest, EntriesAreAlignedDisjointAndInsideTheWorkspaceAtAnyAddress) {
  WorkspaceLedger ledger;
  const int64_t sizes[] = {1, 128, 0, 129, 4096, 7};
  for (int64_t size : sizes) ledger.Book("entry", size);
  std::vector<char> memory(static_cast<size_t>(ledger.total_bytes()) + WorkspaceLedger::kAlignment);
  for (int64_t shift = 0; shift < WorkspaceLedger::kAlignment; ++shift) {
    char* workspace = memory.data() + shift;
    char* end = workspace;
    for (int i = 0; i < 6; ++i) {
      char* entry = static_cast<char*>(ledger.Fetch(workspace, i));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(entry) % WorkspaceLedger::kAlignment, 0u);
      EXPECT_GE(entry, end);
      end = entry + sizes[i];
    }
    EXPECT_LE(end, workspace + ledger.total_bytes());
  }
}

TEST(WorkspaceLedgerTest, WhatStartsOverSharesThePlaceOfWhatWasThere) {
  WorkspaceLedger ledger;
  ledger.Book("first", 1000);
  const int second = ledger.Book("second", 1000);
  const int64_t both = ledger.total_bytes();
  ledger.StartOver();
  const int third = ledger.Book("third", 500);
  EXPECT_EQ(ledger.entries()[static_cast<size_t>(third)].offset, 0);
  EXPECT_EQ(ledger.total_bytes(), both);
  const int fourth = ledger.Book("fourth", 3000);
  EXPECT_GE(ledger.entries()[static_cast<size_t>(fourth)].offset, 500);
  EXPECT_GT(ledger.total_bytes(), both);
  EXPECT_GT(ledger.entries()[static_cast<size_t>(second)].offset, 0);
}

TEST(WorkspaceLedgerTest, SharesOfThreadsAreOneEntryWithGapsBetweenThem) {
  WorkspaceLedger ledger;
  ledger.Book("before", 1);
  constexpr int64_t kBytes = 300;
  const int shares = ledger.BookEach("scratch", kBytes, 3), next = ledger.Book("next", 1);
  const WorkspaceLedger::Entry& entry = ledger.entries()[static_cast<size_t>(shares)];
  EXPECT_EQ(entry.threads, 3);
  std::vector<char> memory(static_cast<size_t>(ledger.total_bytes()));
  const Shares fetched = ledger.FetchEach(memory.data(), shares);
  EXPECT_EQ(fetched.Of(0), ledger.Fetch(memory.data(), shares));
  for (int worker = 0; worker < 3; ++worker) {
    char* end = worker < 2 ? fetched.Of(worker + 1) : static_cast<char*>(ledger.Fetch(memory.data(), next));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(fetched.Of<float>(worker)) % WorkspaceLedger::kAlignment, 0u);
    EXPECT_GE(end - fetched.Of(worker), worker < 2 ? 2 * kBytes : kBytes);  // a small share's gap is as large as it
  }
  constexpr int64_t kLarge = int64_t{10} << 20;
  EXPECT_GE(WorkspaceLedger::StepOf(kLarge), kLarge + (64 << 10));
  EXPECT_LT(WorkspaceLedger::StepOf(kLarge), kLarge + (1 << 20));  // a gap is small beside what it parts
  const int alone = ledger.BookEach("one thread's", kBytes, 1);
  EXPECT_EQ(ledger.entries()[static_cast<size_t>(alone)].bytes, kBytes);
  EXPECT_FALSE(ledger.overflowed());
  ledger.BookEach("too much", int64_t{1} << 62, 4);
  EXPECT_TRUE(ledger.overflowed());
}

TEST(WorkspaceLedgerTest, ASizeThatCannotBeIsAnOverflowNotAWrap) {
  WorkspaceLedger ledger;
  ledger.Book("most", int64_t{1} << 61);
  EXPECT_FALSE(ledger.overflowed());
  ledger.Book("more", (int64_t{1} << 62) - 1);
  EXPECT_TRUE(ledger.overflowed());
  WorkspaceLedger negative;
  negative.Book("negative", -1);
  EXPECT_TRUE(negative.overflowed());
}

}  // namespace
}  // namespace canopy::plan
