#include "symbols/symbol_table.h"

#include <gtest/gtest.h>

#include <string>

#include "symbols/elf_bytes_for_test.h"

namespace heaptape {
namespace {

struct Entry {
  const char* name;
  std::uint64_t start, size;
  unsigned char binding = STB_GLOBAL, type = STT_FUNC;
};

class Table {
public:
  explicit Table(const std::vector<Entry>& entries, std::vector<AddressRange> code = {{0x1000, 0x9000}}) {
    names_.push_back('\0');
    for (const Entry& entry : entries) {
      Elf64_Sym symbol{};
      symbol.st_name = static_cast<Elf64_Word>(names_.size());
      symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(entry.binding, entry.type));
      symbol.st_shndx = 1;
      symbol.st_value = entry.start;
      symbol.st_size = entry.size;
      names_ += entry.name;
      names_ += '\0';
      symbols_.push_back(symbol);
    }
    table_.add(std::as_bytes(std::span(symbols_)), std::as_bytes(std::span(names_)));
    table_.finish(code);
  }
  std::string at(std::uint64_t address) const {
    const Symbol* symbol = table_.find(address);
    return symbol != nullptr ? std::string(symbol->name) : "?";
  }

private:
  std::string names_;
  std::vector<Elf64_Sym> symbols_;
  SymbolTable table_;
};

TEST(SymbolTable, AFunctionHoldsItsSizeAndNothingBehindIt) {
  const Table table({{"first", 0x1000, 0x10}, {"second", 0x1020, 0x10}});
  EXPECT_EQ(table.at(0x0fff), "?");
  EXPECT_EQ(table.at(0x1000), "first");
  EXPECT_EQ(table.at(0x100f), "first");
  EXPECT_EQ(table.at(0x1010), "?") << "between two functions";
  EXPECT_EQ(table.at(0x1020), "second");
  EXPECT_EQ(table.at(0x8000), "?");
}

TEST(SymbolTable, WithoutASizeASymbolReachesToTheNext) {
  const Table table({{"_start", 0x1000, 0, STB_GLOBAL, STT_NOTYPE}, {"main", 0x1040, 0x10}});
  EXPECT_EQ(table.at(0x103f), "_start");
  EXPECT_EQ(table.at(0x1040), "main");
  EXPECT_EQ(table.at(0x1050), "?") << "never across the end of another";
}

TEST(SymbolTable, WithoutASizeASymbolEndsWithItsSection) {
  const Table table({{"_init", 0x1000, 0}}, {{0x1000, 0x1020}, {0x1020, 0x1100}});
  EXPECT_EQ(table.at(0x101f), "_init");
  EXPECT_EQ(table.at(0x1020), "?");
}

TEST(SymbolTable, OfSeveralNamesTheOneThatPeopleCallIsTaken) {
  EXPECT_EQ(Table({{"__libc_malloc", 0x1000, 8}, {"malloc", 0x1000, 8}, {"cfree", 0x2000, 8, STB_LOCAL}}).at(0x1000),
            "malloc");
  EXPECT_EQ(Table({{"local", 0x1000, 8, STB_LOCAL}, {"longer_global", 0x1000, 8}}).at(0x1000), "longer_global");
  EXPECT_EQ(Table({{"a_label", 0x1000, 8, STB_GLOBAL, STT_NOTYPE}, {"function", 0x1000, 8, STB_LOCAL}}).at(0x1000),
            "function");
  EXPECT_EQ(Table({{"b", 0x1000, 8}, {"a", 0x1000, 8}}).at(0x1000),
            Table({{"a", 0x1000, 8}, {"b", 0x1000, 8}}).at(0x1000));
}

TEST(SymbolTable, ALabelInsideAFunctionDoesNotHideIt) {
  const Table table(
      {{"function", 0x1000, 0x100}, {"label", 0x1010, 0, STB_LOCAL, STT_NOTYPE}, {"inner", 0x1020, 0x10}});
  EXPECT_EQ(table.at(0x1018), "function");
  EXPECT_EQ(table.at(0x1028), "inner");
  EXPECT_EQ(table.at(0x1030), "function");
}

TEST(SymbolTable, VersionsAreCutOffAndDataIsLeftOut) {
  const Table table({{"read@@GLIBC_2.2.5", 0x1000, 8},
                     {"table", 0x20000, 8, STB_GLOBAL, STT_NOTYPE},
                     {"thing", 0x1100, 8, STB_GLOBAL, STT_OBJECT}});
  EXPECT_EQ(table.at(0x1000), "read");
  EXPECT_EQ(table.at(0x20000), "?");
  EXPECT_EQ(table.at(0x1100), "?");
}

} // namespace
} // namespace heaptape
