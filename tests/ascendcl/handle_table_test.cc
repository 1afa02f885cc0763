// SPDX-License-Identifier: Apache-2.0
#include "ascendcl/handle_table.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace canopy::ascendcl {
namespace {

TEST(HandleTable, FindsWhatWasInserted) {
  HandleTable<int> table(0x1234);
  int a = 1;
  int b = 2;
  void* const handle_a = table.Insert(&a);
  void* const handle_b = table.Insert(&b);
  EXPECT_EQ(table.Find(handle_a), &a);
  EXPECT_EQ(table.Find(handle_b), &b);
  EXPECT_EQ(table.size(), 2U);
}

TEST(HandleTable, KnowsADestroyedHandleFromTheOneThatTookItsSlot) {
  HandleTable<int> table(0x1234, 1);
  int a = 1;
  int b = 2;
  void* const first = table.Insert(&a);
  EXPECT_EQ(table.Erase(first), &a);
  EXPECT_EQ(table.Find(first), nullptr);
  EXPECT_EQ(table.Erase(first), nullptr);
  void* const second = table.Insert(&b);
  EXPECT_NE(first, second);
  EXPECT_EQ(table.Find(first), nullptr);
  EXPECT_EQ(table.Find(second), &b);
}

TEST(HandleTable, RefusesHandlesOfOtherTables) {
  HandleTable<int> streams(0x1234);
  HandleTable<int> events(0x1235);
  int object = 0;
  EXPECT_EQ(events.Find(streams.Insert(&object)), nullptr);
}

TEST(HandleTable, RefusesNullAndAddresses) {
  HandleTable<int> table(0x1234);
  int object = 0;
  table.Insert(&object);
  EXPECT_EQ(table.Find(nullptr), nullptr);
  EXPECT_EQ(table.Find(&object), nullptr);
  EXPECT_EQ(table.Find(reinterpret_cast<void*>(~uintptr_t{0})), nullptr);
  EXPECT_EQ(table.Find(reinterpret_cast<void*>(uintptr_t{0x1234} << 48)), nullptr);
}

TEST(HandleTable, IsFullAtItsCapacityAndTakesAgainWhatIsFreed) {
  HandleTable<int> table(0x1234, 2);
  int object = 0;
  void* const first = table.Insert(&object);
  EXPECT_NE(table.Insert(&object), nullptr);
  EXPECT_EQ(table.Insert(&object), nullptr);
  table.Erase(first);
  EXPECT_NE(table.Insert(&object), nullptr);
}

TEST(HandleTable, NeverRepeatsAHandle) {
  HandleTable<int> table(0x1234, 4);
  int object = 0;
  std::set<void*> seen;
  for (int i = 0; i < 10000; ++i) {
    void* const handle = table.Insert(&object);
    EXPECT_TRUE(seen.insert(handle).second);
    table.Erase(handle);
  }
}

TEST(HandleTable, VisitsLivingObjectsOnly) {
  HandleTable<int> table(0x1234);
  std::vector<int> objects = {1, 2, 4};
  table.Insert(&objects[0]);
  void* const gone = table.Insert(&objects[1]);
  table.Insert(&objects[2]);
  table.Erase(gone);
  int sum = 0;
  table.ForEach([&sum](const int* object) { sum += *object; });
  EXPECT_EQ(sum, 5);
}

}  // namespace
}  // namespace canopy::ascendcl
