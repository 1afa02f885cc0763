// SPDX-License-Identifier: Apache-2.0
#include "nnopbase/handle_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace canopy::nnopbase {
namespace {

struct Widget;  // never defined: handles are not addresses
using WidgetTable = HandleTable<Widget, std::unique_ptr<int>, HandleKind::kTensor>;

Ticket TicketOf(const void* handle) {
  Ticket ticket{};
  EXPECT_TRUE(Ticket::Decode(handle, &ticket));
  return ticket;
}

TEST(Ticket, SurvivesItsEncoding) {
  for (const Ticket t : {Ticket{HandleKind::kTensor, 1, 0},
                         Ticket{HandleKind::kExecutor, Ticket::kLastGeneration, Ticket::kMaxSlots - 1}}) {
    const Ticket back = TicketOf(t.Encode());
    EXPECT_EQ(back.kind, t.kind);
    EXPECT_EQ(back.generation, t.generation);
    EXPECT_EQ(back.slot, t.slot);
  }
}

TEST(Ticket, RefusesAddressesAndUnknownKinds) {
  const int on_stack = 0;
  const auto on_heap = std::make_unique<int>(0);
  const uint64_t mark = uint64_t{5} << 60;
  Ticket ticket{};
  for (const void* p : {static_cast<const void*>(nullptr), static_cast<const void*>(&on_stack),
                        static_cast<const void*>(on_heap.get()), reinterpret_cast<const void*>(~uint64_t{0}),
                        reinterpret_cast<const void*>(mark), reinterpret_cast<const void*>(mark | uint64_t{9} << 56)}) {
    EXPECT_FALSE(Ticket::Decode(p, &ticket)) << p;
  }
}

TEST(Ticket, DescribesWhatAHandleIsInstead) {
  const int object = 0;
  EXPECT_STREQ(DescribeUnusable(nullptr, HandleKind::kTensor), "NULL");
  EXPECT_STREQ(DescribeUnusable(&object, HandleKind::kTensor), "not a handle of this library");
  const void* array = Ticket{HandleKind::kIntArray, 1, 0}.Encode();
  EXPECT_STREQ(DescribeUnusable(array, HandleKind::kTensor), "an aclIntArray");
  EXPECT_STREQ(DescribeUnusable(array, HandleKind::kIntArray), "a destroyed aclIntArray");
}

TEST(HandleTable, GivesTheObjectBackOnce) {
  static constinit WidgetTable table;
  Widget* handle = table.Insert(std::make_unique<int>(7));
  int seen = 0;
  EXPECT_TRUE(table.Visit(handle, [&seen](const std::unique_ptr<int>& p) { seen = *p; }));
  EXPECT_EQ(seen, 7);
  std::unique_ptr<int> object;
  EXPECT_TRUE(table.Take(handle, &object));
  EXPECT_EQ(*object, 7);
  EXPECT_FALSE(table.Take(handle, &object));
  EXPECT_FALSE(table.Contains(handle));
  EXPECT_EQ(*object, 7);
}

TEST(HandleTable, ReusesASlotUnderANewHandle) {
  static constinit WidgetTable table;
  Widget* first = table.Insert(std::make_unique<int>(1));
  std::unique_ptr<int> object;
  ASSERT_TRUE(table.Take(first, &object));
  Widget* second = table.Insert(std::make_unique<int>(2));
  EXPECT_EQ(TicketOf(first).slot, TicketOf(second).slot);
  EXPECT_NE(first, second);
  EXPECT_FALSE(table.Contains(first));
  EXPECT_TRUE(table.Contains(second));
}

TEST(HandleTable, RefusesForgedHandles) {
  static constinit WidgetTable table;
  const auto refused = [](const Ticket& t) { return !table.Contains(static_cast<const Widget*>(t.Encode())); };
  EXPECT_TRUE(refused({HandleKind::kTensor, 1, 0})) << "the table is empty";
  const Ticket real = TicketOf(table.Insert(std::make_unique<int>(1)));
  EXPECT_FALSE(refused(real));
  EXPECT_TRUE(refused({HandleKind::kScalar, real.generation, real.slot})) << "of another kind";
  EXPECT_TRUE(refused({HandleKind::kTensor, real.generation + 1, real.slot})) << "of the future";
  EXPECT_TRUE(refused({HandleKind::kTensor, 0, real.slot})) << "of no generation";
  EXPECT_TRUE(refused({HandleKind::kTensor, 1, real.slot + 1})) << "of a slot never used";
  EXPECT_TRUE(refused({HandleKind::kTensor, 1, Ticket::kMaxSlots - 1})) << "of a chunk never made";
}

// Chunks hold 64, 128, 256, ... slots: 500 objects fill three of them and begin the fourth.
TEST(HandleTable, KeepsManyObjectsApart) {
  static constinit WidgetTable table;
  std::vector<Widget*> handles;
  for (int i = 0; i < 500; ++i) handles.push_back(table.Insert(std::make_unique<int>(i)));
  EXPECT_EQ(std::set<Widget*>(handles.begin(), handles.end()).size(), handles.size());
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(table.Visit(handles[i], [i](const std::unique_ptr<int>& p) { EXPECT_EQ(*p, i); }));
  }
  std::unique_ptr<int> object;
  for (int i = 0; i < 500; i += 3) EXPECT_TRUE(table.Take(handles[i], &object));
  for (int i = 0; i < 500; ++i) EXPECT_EQ(table.Contains(handles[i]), i % 3 != 0);
}

TEST(HandleTable, NeverGivesOneHandleTwice) {
  static constinit WidgetTable table;
  std::set<Widget*> seen;
  std::unique_ptr<int> object;
  for (int i = 0; i < 1000; ++i) {
    Widget* handle = table.Insert(std::make_unique<int>(i));
    EXPECT_TRUE(seen.insert(handle).second);
    ASSERT_TRUE(table.Take(handle, &object));
  }
}

// One thread's handles are another's garbage: each must get exactly what it put in, and each taken object once.
TEST(HandleTable, ServesManyThreads) {
  static constinit HandleTable<Widget, int, HandleKind::kTensor> table;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      std::vector<std::pair<Widget*, int>> mine;
      for (int i = 0; i < 20000; ++i) {
        mine.emplace_back(table.Insert(t * 1000000 + i), t * 1000000 + i);
        if (mine.size() < 40) continue;
        for (const auto& [handle, value] : mine) {
          int got = -1;
          if (!table.Take(handle, &got) || got != value || table.Take(handle, &got)) ++wrong;
        }
        mine.clear();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(HandleTable, LetsOneOfManyThreadsTakeAnObject) {
  static constinit HandleTable<Widget, int, HandleKind::kTensor> table;
  for (int round = 0; round < 200; ++round) {
    Widget* handle = table.Insert(int{round});
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([handle, &taken] {
        int object = 0;
        taken += table.Take(handle, &object);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(taken, 1);
  }
}

}  // namespace
}  // namespace canopy::nnopbase
