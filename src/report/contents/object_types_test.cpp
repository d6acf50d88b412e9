#include "report/contents/object_types.h"

#include <gtest/gtest.h>

#include "analysis/memory/pages_for_test.h"
#include "report/contents/python_types.h"

namespace heaptape {
namespace {

// A virtual table with its type_info, as compilers lay them out.
class Tables {
public:
  static constexpr std::uint64_t kData = 0x7f00'0000'1000, kText = 0x7f00'0000'8000;

  // Where an object's first word leads.
  std::uint64_t table(std::string_view name, std::uint64_t table_of_info) {
    const std::uint64_t table = next_, info = next_ + 0x40, text = kText + (next_ - kData);
    next_ += 0x80;
    pages.put_word(table, 0);
    pages.put_word(table + 8, info);
    pages.put_word(info, table_of_info);
    pages.put_word(info + 8, text);
    pages.put_text(text, name);
    return table + 16;
  }

  PagesForTest pages;

private:
  std::uint64_t next_ = kData;
};

std::string class_of(Tables& tables, std::uint64_t word) {
  const MemoryImage image(tables.pages.runs(), tables.pages);
  MemoryCursor cursor(image);
  return class_by_type_info(cursor, word);
}

TEST(ClassByTypeInfo, IsNamedByTheClassOfItsTypeInfo) {
  Tables tables;
  const std::uint64_t class_info = tables.table("N10__cxxabiv120__si_class_type_infoE", 0);
  const std::uint64_t circle = tables.table("6Circle", class_info);
  const std::uint64_t local = tables.table("*Z4mainE5Local", class_info);
  EXPECT_EQ(class_of(tables, circle), "6Circle");
  EXPECT_EQ(class_of(tables, local), "Z4mainE5Local");
}

TEST(ClassByTypeInfo, IsNothingWithoutAClassOfTypeInfo) {
  Tables tables;
  const std::uint64_t other = tables.table("N10__cxxabiv119__pointer_type_infoE", 0);
  EXPECT_EQ(class_of(tables, tables.table("6Circle", other)), "");
  EXPECT_EQ(class_of(tables, tables.table("6Circle", 0)), "");
  EXPECT_EQ(class_of(tables, Tables::kData + 12), "");
  EXPECT_EQ(class_of(tables, 8), "");
  EXPECT_EQ(class_of(tables, 0x1234'5678'9000), "");
}

TEST(ClassByTypeInfo, MayLeadInACircle) {
  Tables tables;
  const std::uint64_t circle = tables.table("6Circle", Tables::kData + 16);
  EXPECT_EQ(class_of(tables, circle), "");
}

// Objects of CPython and their type objects.
class Python {
public:
  static constexpr std::uint64_t kTypes = 0x5500'0000'0000;

  std::uint64_t type(std::string_view name, std::uint64_t meta, std::uint64_t size = 48) {
    const std::uint64_t at = next_;
    next_ += 0x200;
    pages.put_word(at, 1);
    pages.put_word(at + 8, meta == 0 ? at : meta);
    pages.put_word(at + 24, at + 0x180);
    pages.put_word(at + 32, size);
    pages.put_text(at + 0x180, name);
    return at;
  }
  std::string name_of(const PythonTypes::Head& head, std::uint64_t bytes) {
    const MemoryImage image(pages.runs(), pages);
    MemoryCursor cursor(image);
    PythonTypes types(cursor);
    const auto object = types.object_in(head, bytes);
    return object ? *object->type + " at " + std::to_string(object->offset) : "none";
  }

  PagesForTest pages;

private:
  std::uint64_t next_ = kTypes;
};

TEST(PythonTypes, AreFoundBehindWhatTheCollectorPutsInFront) {
  Python python;
  const std::uint64_t type = python.type("type", 0), dict = python.type("dict", type);
  EXPECT_EQ(python.name_of({1, dict}, 48), "dict at 0");
  EXPECT_EQ(python.name_of({0x5555'0000'1000, 0x5555'0000'2000, 3, dict}, 64), "dict at 16");
  EXPECT_EQ(python.name_of({0, 0, 0x5555'0000'1000, 0x5555'0000'2000, 3, dict}, 80), "dict at 32");
}

TEST(PythonTypes, AreOnlyThoseWhoseClassLeadsToType) {
  Python python;
  const std::uint64_t type = python.type("type", 0), meta = python.type("ABCMeta", type);
  EXPECT_EQ(python.name_of({1, python.type("Sequence", meta)}, 48), "Sequence at 0");
  const std::uint64_t other = python.type("kind", 0);
  EXPECT_EQ(python.name_of({1, python.type("dict", other)}, 48), "none");
  EXPECT_EQ(python.name_of({1, 0x1000}, 48), "none");
}

TEST(PythonTypes, MustFitIntoTheirBlocks) {
  Python python;
  const std::uint64_t type = python.type("type", 0), big = python.type("Big", type, 200);
  EXPECT_EQ(python.name_of({1, big}, 200), "Big at 0");
  EXPECT_EQ(python.name_of({1, big}, 199), "none");
  EXPECT_EQ(python.name_of({0, big}, 200), "none"); // no reference to it
}

} // namespace
} // namespace heaptape
