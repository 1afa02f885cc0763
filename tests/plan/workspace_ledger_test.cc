// SPDX-License-Identifier: Apache-2.0
#include "plan/workspace_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  const auto offset_of = [&](int handle) { return ledger.OffsetOf(ledger.entries()[static_cast<size_t>(handle)]); };
  EXPECT_EQ(offset_of(third), 0);
  EXPECT_EQ(ledger.total_bytes(), both);
  const int fourth = ledger.Book("fourth", 3000);
  EXPECT_GE(offset_of(fourth), 500);
  EXPECT_GT(ledger.total_bytes(), both);
  EXPECT_GT(offset_of(second), 0);
}

TEST(WorkspaceLedgerTest, WhatStartsOverNeedsNoMoreThanEitherAlone) {
  const auto booked = [](int64_t own, int64_t common, WorkspaceLedger* ledger) {
    ledger->BookEach("scratch", own, 3);
    ledger->Book("common", common);
    return ledger->total_bytes();
  };
  WorkspaceLedger one, other, both;
  const int64_t most = std::max(booked(10000, 100, &one), booked(100, 30000, &other));
  booked(10000, 100, &both);
  both.StartOver();
  EXPECT_EQ(booked(100, 30000, &both), most);
  both.Spread(both.step(), most);
  EXPECT_EQ(both.total_bytes(), most);
}

TEST(WorkspaceLedgerTest, SharesOfAThreadLieTogetherWithGapsBetweenThreads) {
  WorkspaceLedger ledger;
  constexpr int64_t kBytes = 300;
  const int before = ledger.Book("before", 1), first = ledger.BookEach("scratch", kBytes, 3);
  const int second = ledger.BookEach("more", kBytes, 3), next = ledger.Book("next", 1);
  EXPECT_EQ(ledger.entries()[static_cast<size_t>(first)].threads, 3);
  std::vector<char> memory(static_cast<size_t>(ledger.total_bytes()));
  const Shares scratch = ledger.FetchEach(memory.data(), first), more = ledger.FetchEach(memory.data(), second);
  EXPECT_EQ(scratch.Of(0), ledger.Fetch(memory.data(), first));
  for (int worker = 0; worker < 3; ++worker) {
    char* end = worker < 2 ? scratch.Of(worker + 1) : static_cast<char*>(ledger.Fetch(memory.data(), before));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(more.Of<float>(worker)) % WorkspaceLedger::kAlignment, 0u);
    EXPECT_GE(more.Of(worker) - scratch.Of(worker), kBytes);
    EXPECT_GE(end - more.Of(worker), worker < 2 ? 3 * kBytes : kBytes);  // the gap is as large as both small shares
  }
  EXPECT_GT(ledger.Fetch(memory.data(), next), ledger.Fetch(memory.data(), before));
  EXPECT_FALSE(ledger.overflowed());
  WorkspaceLedger large;
  constexpr int64_t kLarge = int64_t{10} << 20;
  large.BookEach("scratch", kLarge, 2);
  EXPECT_GE(large.step(), kLarge + (64 << 10));
  EXPECT_LT(large.step(), kLarge + (1 << 20));  // a gap is small beside what it parts
  WorkspaceLedger alone;
  alone.BookEach("one thread's", kBytes, 1);
  EXPECT_LT(alone.total_bytes(), 2 * kBytes);
}

TEST(WorkspaceLedgerTest, SharesAreSpreadAsFarAsTheWorkspaceAllows) {
  constexpr int64_t kBytes = 1000, kThreads = 4;
  const auto booked = [] {
    WorkspaceLedger ledger;
    ledger.BookEach("scratch", kBytes, kThreads);
    ledger.Book("common", kBytes);
    return ledger;
  };
  const int64_t least = booked().step(), bytes = booked().total_bytes();
  for (const int64_t room : {bytes, bytes + 1, bytes + 3000, bytes + 100000}) {
    for (const int64_t step : {int64_t{0}, least, least + 512, least + 20480}) {
      WorkspaceLedger ledger = booked();
      ledger.Spread(step, room);
      EXPECT_GE(ledger.step(), least);
      EXPECT_EQ(ledger.step() % WorkspaceLedger::kAlignment, 0);
      EXPECT_LE(ledger.total_bytes(), room);
      if (step >= least && room == bytes + 100000) {
        EXPECT_EQ(ledger.step(), step);
      }
      std::vector<char> memory(static_cast<size_t>(room));
      char* last = ledger.FetchEach(memory.data(), 0).Of(kThreads - 1);
      EXPECT_GE(static_cast<char*>(ledger.Fetch(memory.data(), 1)), last + kBytes);
    }
  }
  WorkspaceLedger one;
  one.BookEach("scratch", kBytes, 1);
  const int64_t alone = one.total_bytes();
  one.Spread(1 << 20, 1 << 30);
  EXPECT_EQ(one.total_bytes(), alone);
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
  WorkspaceLedger shares;
  shares.BookEach("too much for all", int64_t{1} << 60, 4);
  EXPECT_TRUE(shares.overflowed());
  EXPECT_LT(shares.total_bytes(), int64_t{1} << 61);  // nobody asks for it, but it is no overflow either
}

}  // namespace
}  // namespace canopy::plan
