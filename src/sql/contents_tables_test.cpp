// The tables about what memory held, on a tape whose pointers are known.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "report/contents/contents_tape_for_test.h"
#include "sql/database.h"
#include "sql/lines_for_test.h"

namespace heaptape {
namespace {

// A table leads to 100 nodes, each node to another one; a third of them is cut off before the second snapshot, and some are released
// after it.
class ContentsDatabase : public testing::Test {
protected:
  ContentsDatabase() {
    std::mt19937 random(3);
    const StackId of_table = tape.stacks.stack({"main", "make_table"}),
                  of_node = tape.stacks.stack({"main", "make_node"});
    table = tape.add(100 * 8, of_table);
    tape.variable(5, table);
    for (std::uint64_t i = 0; i < 100; ++i) {
      nodes.push_back(tape.add(24, of_node));
      lead(table + 8 * i, nodes.back());
      if (i != 0) lead(nodes.back() + 8, nodes[random() % i]);
    }
    tape.snapshot("whole");
    before = words;
    tape.release(tape.add(50, of_table));
    for (std::uint64_t i = 0; i < 100; i += 3) cut(table + 8 * i);
    tape.variable(5, table + 4); // with a flag
    tape.snapshot("cut");
    for (std::uint64_t i = 1; i < 10; i += 3) tape.release(nodes[i]);
    path = tape.write();
    view.emplace(TapeView::open(path).value());
    database.emplace(Database::open(*view).value());
  }
  ~ContentsDatabase() override { ::unlink(path.c_str()); }

  void lead(std::uint64_t word, std::uint64_t to) {
    tape.put(word, to);
    words[word] = to;
  }
  void cut(std::uint64_t word) {
    tape.put(word, 0);
    words.erase(word);
  }
  std::uint64_t block_of(std::uint64_t address) const {
    return address < nodes.front() ? table : *std::prev(std::upper_bound(nodes.begin(), nodes.end(), address));
  }
  // As refs has them.
  std::string references(const std::map<std::uint64_t, std::uint64_t>& all) const {
    std::string text;
    for (const auto& [word, to] : all)
      text += "block|" + std::to_string(block_of(word)) + "|" + std::to_string(word - block_of(word)) + "|" +
              std::to_string(word) + "|NULL|" + std::to_string(to) + "|0\n";
    return text;
  }
  std::string ask(const std::string& sql) { return lines_of(*database, sql); }

  test::ContentsTape tape;
  std::uint64_t table = 0;
  std::vector<std::uint64_t> nodes;
  std::map<std::uint64_t, std::uint64_t> words, before; // where pointers lie, and where they lead
  std::string path;
  std::optional<TapeView> view;
  std::optional<Database> database;
};

TEST_F(ContentsDatabase, ReferencesAreThoseOfTheSnapshotThatIsMeant) {
  const std::string root = "variable|NULL|40|" + std::to_string(test::ContentsTape::kVariables + 40) +
                           "|variables of program|" + std::to_string(table);
  EXPECT_EQ(ask("SELECT * FROM refs"), root + "|4\n" + references(words));
  EXPECT_EQ(ask("SELECT * FROM refs('snapshot:1')"), root + "|0\n" + references(before));
  EXPECT_EQ(ask("SELECT * FROM refs('101')"), root + "|0\n" + references(before)) << "the last up to a moment";
  Result<Database> earlier = Database::open(*view, {}, "snapshot:1");
  EXPECT_EQ(lines_of(earlier.value(), "SELECT * FROM refs"), root + "|0\n" + references(before)) << "as --at says";
  EXPECT_EQ(lines_of(earlier.value(), "SELECT count(*) FROM refs('end')"), std::to_string(words.size() + 1) + "\n");
}

TEST_F(ContentsDatabase, ConditionsThatArePassedOnLeaveTheSameReferencesAsWithout) {
  ASSERT_EQ(ask("CREATE TEMP TABLE r AS SELECT * FROM refs"), "");
  std::mt19937 random(7);
  const auto pick = [&](const auto& list) { return list[random() % list.size()]; };
  const std::vector<std::string> columns{"from_block", "to_block", "offset", "inside", "address"};
  const std::vector<std::string> operators{"=", "<", "<=", ">", ">=", "!=", "IS"};
  std::size_t found = 0;
  for (int round = 0; round < 300; ++round) {
    std::string where;
    for (unsigned i = 0, count = 1 + static_cast<unsigned>(random() % 2); i < count; ++i) {
      const std::string column = pick(columns);
      std::string value;
      switch (random() % 6) {
      case 0: value = "NULL"; break;
      case 1: value = "-1"; break;
      case 2: value = "9223372036854775807"; break;
      default: value = "(SELECT " + column + " FROM r LIMIT 1 OFFSET " + std::to_string(random() % words.size()) + ")";
      }
      where += (i == 0 ? "" : " AND ") + column + " " + pick(operators) + " " + value;
    }
    if (random() % 4 == 0) where += random() % 2 == 0 ? " AND place = 'block'" : " AND place = 'variable'";
    const std::string expected = ask("SELECT * FROM r WHERE " + where);
    ASSERT_EQ(ask("SELECT * FROM refs WHERE " + where), expected) << where;
    found += !expected.empty();
  }
  EXPECT_GT(found, 60u);
}

TEST_F(ContentsDatabase, ReferencesCanBeFollowed) {
  // Everything that the program can get at, worked out in SQL.
  EXPECT_EQ(ask("WITH RECURSIVE got(block) AS (SELECT to_block FROM refs WHERE from_block IS NULL "
                "UNION SELECT r.to_block FROM got JOIN refs r ON r.from_block = got.block) "
                "SELECT count(*) FROM got"),
            ask("SELECT count(*) FROM blocks WHERE class = 'reachable'"));
  for (const std::uint64_t node : {nodes[0], nodes[50]}) {
    std::set<std::uint64_t> holders;
    for (const auto& [word, to] : words)
      if (to == node) holders.insert(block_of(word));
    std::string expected;
    for (const std::uint64_t holder : holders) expected += std::to_string(holder) + "\n";
    EXPECT_EQ(ask("SELECT DISTINCT from_block FROM refs WHERE to_block = " + std::to_string(node)), expected);
  }
}

TEST_F(ContentsDatabase, BlocksHaveTypeClassAndRetainedBytesIfTheyWereLiveAtTheSnapshot) {
  EXPECT_EQ(ask("SELECT class, count(*) FROM blocks GROUP BY class"), "NULL|1\ndefinitely lost|15\nreachable|86\n");
  EXPECT_EQ(ask("SELECT class, free_event IS NULL, type FROM blocks WHERE address = " + std::to_string(nodes[1])),
            "reachable|0|<make_node>\n");
  EXPECT_EQ(ask("SELECT type, count(*), sum(size) FROM blocks GROUP BY type"),
            "NULL|1|50\n<make_node>|100|2400\n<make_table>|1|800\n");
  EXPECT_EQ(ask("SELECT retained FROM blocks WHERE address = " + std::to_string(table)),
            ask("SELECT 800 + 24 * count(*) FROM blocks WHERE class = 'reachable' AND size = 24"));
  Result<Database> earlier = Database::open(*view, {}, "whole");
  // There is no mark of that name on this tape.
  EXPECT_NE(lines_of(earlier.value(), "SELECT class FROM blocks").find("error: 'whole' is not a moment"),
            std::string::npos);
  EXPECT_EQ(lines_of(earlier.value(), "SELECT count(*) FROM blocks"), "102\n") << "which nobody needs here";
}

TEST_F(ContentsDatabase, TypesAddUpToTheHeap) {
  EXPECT_EQ(ask("SELECT name, known_by, blocks, bytes FROM types"),
            "<make_node>|function|100|2400\n<make_table>|function|1|800\n");
  EXPECT_EQ(ask("SELECT name, retained FROM types('snapshot:1')"), "<make_node>|2400\n<make_table>|3200\n");
  EXPECT_EQ(
      ask("SELECT b.name, a.retained - b.retained FROM types('snapshot:1') a JOIN types('snapshot:2') b USING (name) "
          "WHERE b.name = '<make_table>'"),
      ask("SELECT '<make_table>', 3200 - (SELECT retained FROM blocks WHERE size = 800)"));
}

TEST_F(ContentsDatabase, SnapshotsAreListed) {
  EXPECT_EQ(ask("SELECT id, name, event, method, pages, new_pages, pause, live_bytes FROM snapshots"),
            "1|whole|101|stop|49|49|0.001500|3200\n2|cut|103|stop|49|49|0.001500|3200\n");
  EXPECT_EQ(ask("SELECT count(*) FROM snapshots WHERE bytes > 0 AND bytes < 49 * 4096"), "2\n");
}

TEST_F(ContentsDatabase, MomentsWithoutMemoryAreErrorsInWords) {
  EXPECT_EQ(ask("SELECT * FROM types('snapshot:99')"),
            "error: there is no snapshot '99' on the tape; those there are: 1 'whole', 2 'cut'");
  EXPECT_EQ(ask("SELECT * FROM refs(100)"),
            "error: the first snapshot with memory is at event 101, after this moment; go there, or later");
  EXPECT_EQ(ask("SELECT * FROM refs(NULL)"), "");
}

TEST(ContentsTables, OfATapeWithoutMemoryNothingIsKnown) {
  test::ContentsTape tape;
  tape.add(100, tape.stacks.stack({"main"}));
  const std::string path = tape.write();
  const TapeView view = TapeView::open(path).value();
  Database database = Database::open(view).value();
  EXPECT_EQ(lines_of(database, "SELECT size, type, class, retained FROM blocks"), "100|NULL|NULL|NULL\n");
  EXPECT_EQ(lines_of(database, "SELECT * FROM snapshots"), "");
  for (const char* table : {"types", "refs"})
    EXPECT_EQ(lines_of(database, std::string("SELECT * FROM ") + table).substr(0, 32),
              "error: the tape holds no memory;")
        << table;
  ::unlink(path.c_str());
}

} // namespace
} // namespace heaptape
