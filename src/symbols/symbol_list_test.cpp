#include "symbols/symbol_list.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heaptape {

int g_listed_number[4] = {1, 2, 3, 4};
int listed_function(int number);
int listed_function(int number) { return g_listed_number[number & 3]; }

namespace {

// The symbols of this very program.
std::vector<ListedSymbol> own_symbols() {
  std::vector<std::string> problems;
  std::vector<ListedSymbol> all = list_symbols({.path = "/proc/self/exe"}, {.debuginfod = false}, problems);
  EXPECT_TRUE(problems.empty());
  return all;
}

const ListedSymbol* find(const std::vector<ListedSymbol>& all, std::string_view name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const ListedSymbol& symbol) { return symbol.name == name; });
  return found != all.end() ? &*found : nullptr;
}

TEST(SymbolList, HoldsFunctionsAndDataWithTheirSizes) {
  EXPECT_EQ(listed_function(2), 3);
  const std::vector<ListedSymbol> all = own_symbols();
  const ListedSymbol* data = find(all, "_ZN8heaptape15g_listed_numberE");
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(data->sort, SymbolSort::Object);
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_RED_ZONES // clang counts what it puts behind a variable as part of it
#endif
#endif
#ifdef HAS_RED_ZONES
  EXPECT_GT(data->size, sizeof g_listed_number);
#else
  EXPECT_EQ(data->size, sizeof g_listed_number);
#endif
  const ListedSymbol* code = find(all, "_ZN8heaptape15listed_functionEi");
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->sort, SymbolSort::Function);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const ListedSymbol& a, const ListedSymbol& b) { return a.address < b.address; }));
}

TEST(SymbolList, AFileThatIsNotThereIsSaidAndNamesNothing) {
  std::vector<std::string> problems;
  EXPECT_TRUE(list_symbols({.path = "/nowhere/at/all"}, {.debuginfod = false}, problems).empty());
  EXPECT_EQ(problems.size(), 1u);
}

TEST(SymbolList, AFileThatWasReplacedNamesNothing) {
  std::vector<std::string> problems;
  EXPECT_TRUE(
      list_symbols({.path = "/proc/self/exe", .build_id = {1, 2, 3, 4, 5, 6, 7, 8}}, {.debuginfod = false}, problems)
          .empty());
  EXPECT_EQ(problems.size(), 1u);
}

} // namespace
} // namespace heaptape
