#include "sql/database.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <random>

#include "analysis/moment/block_lives.h"
#include "sql/lines_for_test.h"
#include "tape/sample_tape.h"

namespace heaptape {
namespace {

class TapeDatabase : public testing::Test {
protected:
  static constexpr std::size_t kEvents = 3000;

  explicit TapeDatabase(std::size_t damage_at = 0) : sample(kEvents, 11) {
    std::vector<std::byte> bytes = sample.bytes(200);
    if (damage_at != 0) bytes[bytes.size() / 2] ^= std::byte{0x55};
    path = "/tmp/heaptape-sql-XXXXXX";
    ::close(::mkstemp(path.data()));
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    view.emplace(TapeView::open(path).value());
    database.emplace(Database::open(*view, [this] { return stop; }).value());
  }
  ~TapeDatabase() override { ::unlink(path.c_str()); }

  std::string ask(const std::string& sql) { return lines_of(*database, sql); }

  SampleTape sample;
  std::string path;
  bool stop = false;
  std::optional<TapeView> view;
  std::optional<Database> database;
};

TEST_F(TapeDatabase, MemoryErrorsAreThoseOfTheTape) {
  EXPECT_EQ(ask("SELECT * FROM memory_errors"),
            "write-behind|release|9|0.000011|1|3|" + std::to_string(0x5600'0000'0038) + "|4|" +
                std::to_string(0x5600'0000'0010) +
                "|40|253|61626300|NULL|NULL|NULL\n"
                "read-freed|call|10|0.000012|2|4|" +
                std::to_string(0x5600'0000'0010) + "|40|" + std::to_string(0x5600'0000'0010) +
                "|40|NULL|NULL|NULL|memcpy|0.000007\n");
}

class DamagedTapeDatabase : public TapeDatabase {
protected:
  DamagedTapeDatabase() : TapeDatabase(1) {}
};

TEST_F(TapeDatabase, EventsAreThoseOfTheTape) {
  std::string expected;
  for (const Event& event : sample.events) {
    expected += std::to_string(event.number) + "|" + std::to_string(event.time_us) + "|" +
                std::to_string(static_cast<double>(event.time_us) / 1e6) + "|" + std::to_string(event.thread.value) +
                "|" + kind_name(event.kind) + "|" + std::to_string(event.address) + "|" +
                (is_release(event.kind) ? "NULL" : std::to_string(event.size)) + "|" +
                (event.old_address == 0 ? "NULL" : std::to_string(event.old_address)) + "|" +
                std::to_string(event.stack.value) + "\n";
  }
  EXPECT_EQ(ask("SELECT number, time_us, time, thread, kind, address, size, old_address, stack FROM events"), expected);
}

TEST_F(TapeDatabase, CountsAndSumsAreThoseOfTheTape) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> kinds;
  for (const Event& event : sample.events) {
    auto& [count, bytes] = kinds[kind_name(event.kind)];
    ++count;
    bytes += event.size;
  }
  std::string expected;
  for (const auto& [kind, sums] : kinds)
    expected += kind + "|" + std::to_string(sums.first) + "|" + std::to_string(sums.second) + "\n";
  EXPECT_EQ(ask("SELECT kind, count(*), coalesce(sum(size), 0) FROM events GROUP BY kind ORDER BY kind"), expected);
}

TEST_F(TapeDatabase, BlocksAreThoseThatEverLivedInTheirOrder) {
  std::string expected;
  BlockLives lives(view->tape(), {.kinds = true});
  std::size_t live = 0;
  while (const BlockLife* life = lives.next()) {
    expected += std::to_string(life->block.address) + "|" + std::to_string(life->block.size) + "|" +
                kind_name(life->kind) + "|" + std::to_string(life->block.event) + "|" +
                std::to_string(life->owner.thread.value) + "|" + std::to_string(life->owner.stack.value) + "|";
    if (!life->freed) {
      expected += "NULL|NULL|NULL|NULL\n";
      ++live;
      continue;
    }
    expected += std::to_string(life->freed_event) + "|" + std::to_string(life->freed_thread.value) + "|" +
                std::to_string(life->freed_stack.value) + "|" +
                std::to_string(static_cast<double>(life->freed_us - life->block.time_us) / 1e6) + "\n";
  }
  EXPECT_EQ(ask("SELECT address, size, kind, alloc_event, alloc_thread, alloc_stack, free_event, free_thread, "
                "free_stack, lifetime FROM blocks"),
            expected);
  EXPECT_EQ(ask("SELECT count(*) FROM blocks WHERE free_event IS NULL"), std::to_string(live) + "\n");
  EXPECT_EQ(ask("SELECT count(*), sum(size) FROM blocks WHERE free_event IS NULL"),
            std::to_string(view->findings().totals.live_blocks) + "|" +
                std::to_string(view->findings().totals.live_bytes) + "\n");
}

TEST_F(TapeDatabase, WhatWasLiveAtAMomentIsWhatBlocksSay) {
  const auto expected = [&](std::uint64_t event) {
    const std::string at = std::to_string(event);
    return ask(
        "SELECT alloc_event, address, size, alloc_thread, alloc_stack, alloc_fn FROM blocks WHERE alloc_event <= " +
        at + " AND (free_event > " + at + " OR free_event IS NULL) ORDER BY alloc_event");
  };
  const std::string ask_live = "SELECT event, address, size, thread, stack, fn FROM live";
  for (const std::uint64_t event : {0u, 1u, 500u, 1234u, 2999u, 3000u})
    EXPECT_EQ(ask(ask_live + "(" + std::to_string(event) + ")"), expected(event)) << event;
  EXPECT_EQ(ask(ask_live), expected(kEvents));
  EXPECT_EQ(ask(ask_live + "('peak')"), expected(view->findings().totals.peak_event));
  EXPECT_EQ(ask("SELECT count(*) FROM live(500) WHERE age < 0 OR age > 5"), "0\n");
  EXPECT_EQ(ask("SELECT n.i, count(*) FROM (SELECT 100 AS i UNION SELECT 200) n, live(n.i) GROUP BY 1"),
            "100|" + ask("SELECT count(*) FROM live(100)") + "200|" + ask("SELECT count(*) FROM live(200)"));
  EXPECT_EQ(ask("SELECT * FROM live('nowhere')").substr(0, 41), "error: 'nowhere' is not a moment of this ");
  EXPECT_EQ(ask("SELECT count(*) FROM live(NULL)"), "0\n");
}

TEST_F(TapeDatabase, ConditionsThatArePassedOnLeaveTheSameRowsAsWithout) {
  ASSERT_EQ(ask("CREATE TEMP TABLE e AS SELECT * FROM events; CREATE TEMP TABLE b AS SELECT * FROM blocks;"
                "CREATE TEMP TABLE s AS SELECT * FROM stacks; CREATE TEMP TABLE f AS SELECT * FROM frames"),
            "");
  struct Asked {
    const char *table, *copy, *order;
    std::vector<std::string> columns;
  };
  const std::vector<Asked> tables{
      {"events", "e", "number", {"number", "time_us", "time", "thread", "address", "size", "old_address", "stack"}},
      {"blocks",
       "b",
       "alloc_event",
       {"address", "size", "alloc_event", "alloc_time", "alloc_thread", "alloc_stack", "free_event", "free_time",
        "free_thread", "free_stack", "lifetime"}},
      {"stacks", "s", "id", {"id", "parent", "depth"}},
      {"frames", "f", "stack, depth", {"stack", "depth", "line"}}};
  std::mt19937 random(5);
  const auto pick = [&](const auto& list) { return list[random() % list.size()]; };
  const std::vector<std::string> operators{"=", "<", "<=", ">", ">=", "!=", "IS"};
  std::size_t found = 0;
  for (int round = 0; round < 600; ++round) {
    const Asked& asked = tables[random() % tables.size()];
    std::string where;
    for (unsigned i = 0, conditions = 1 + static_cast<unsigned>(random() % 3); i < conditions; ++i) {
      const std::string column = pick(asked.columns);
      std::string value;
      switch (random() % 8) {
      case 0: value = "NULL"; break;
      case 1: value = "-1"; break;
      case 2: value = std::to_string(random() % 3000) + ".5"; break;
      case 3: value = "'12'"; break;
      // A value that occurs.
      default:
        value = "(SELECT " + column + " FROM " + asked.copy + " LIMIT 1 OFFSET " +
                std::to_string(random() % 30 * 17 % (asked.copy[0] == 's' ? 40 : 500)) + ")";
      }
      where += (i == 0 ? "" : " AND ") + column + " " + pick(operators) + " " + value;
    }
    if (random() % 4 == 0 && (asked.copy[0] == 'e' || asked.copy[0] == 'b')) where += " AND kind = 'malloc'";
    if (random() % 4 == 0 && asked.copy[0] == 'b') where += " AND free_event IS NULL";
    const auto query = [&](const char* table) {
      return ask(std::string("SELECT * FROM ") + table + " WHERE " + where + " ORDER BY " + asked.order);
    };
    const std::string expected = query(asked.copy);
    ASSERT_EQ(expected.find("error"), expected.npos) << where << expected;
    ASSERT_EQ(query(asked.table), expected) << asked.table << " WHERE " << where;
    found += !expected.empty();
  }
  EXPECT_GT(found, 100u);
}

TEST_F(TapeDatabase, ConditionsInListsAndWithOtherCollationsHold) {
  ASSERT_EQ(ask("CREATE TEMP TABLE e AS SELECT * FROM events"), "");
  for (const std::string where : {"kind IN ('malloc', 'free')", "kind = 'MALLOC' COLLATE NOCASE", "number IN (5, 3, 9)",
                                  "rowid = 7", "kind = 'nothing'", "kind = NULL",
                                  "number BETWEEN 10 AND 20 OR number = 3", "thread = '2'", "kind LIKE 'm%'"}) {
    std::string copied = where;
    if (const std::size_t at = copied.find("rowid"); at != copied.npos) copied.replace(at, 5, "number");
    EXPECT_EQ(ask("SELECT * FROM events WHERE " + where + " ORDER BY number"),
              ask("SELECT * FROM e WHERE " + copied + " ORDER BY number"))
        << where;
  }
}

TEST_F(TapeDatabase, JoinsFindTheirPartners) {
  EXPECT_EQ(ask("SELECT count(*) FROM blocks b JOIN events e ON e.number = b.alloc_event WHERE e.address = b.address "
                "AND e.size = b.size AND e.kind = b.kind"),
            ask("SELECT count(*) FROM blocks"));
  EXPECT_EQ(ask("SELECT count(*) FROM events e JOIN threads t ON t.id = e.thread"), "3000\n");
  EXPECT_EQ(ask("SELECT count(*) FROM stacks s WHERE s.depth != (SELECT count(*) FROM frames f WHERE f.stack = s.id)"),
            "0\n");
  EXPECT_EQ(ask("SELECT f.function, f.file FROM frames f WHERE f.stack = 1 AND f.depth = 0"),
            "Cache::insert|/src/cache.cpp\n");
}

TEST_F(TapeDatabase, SmallTablesHoldWhatTheTapeHolds) {
  EXPECT_EQ(ask("SELECT id, tid, name, first_seen, ended FROM threads WHERE id = 2"), "2|4713|worker|0.000002|NULL\n");
  EXPECT_EQ(ask("SELECT path, build_id, first_address FROM modules"),
            "/usr/bin/server|010203|" + std::to_string(0x550000000000) + "\n");
  EXPECT_EQ(ask("SELECT rss, anonymous, virtual, threads FROM samples"), "1048576|524288|16777216|2\n");
  EXPECT_EQ(ask("SELECT count(*) FROM marks"), "0\n");
  EXPECT_EQ(ask("SELECT count(*) FROM stacks"), "40\n");
}

TEST_F(TapeDatabase, RegularExpressionsWorkAsInFilters) {
  EXPECT_EQ(ask("SELECT count(*) FROM events WHERE kind REGEXP '^m.*c$'"),
            ask("SELECT count(*) FROM events WHERE kind = 'malloc'"));
  EXPECT_EQ(ask("SELECT 'a' REGEXP NULL"), "NULL\n");
  EXPECT_NE(ask("SELECT 'a' REGEXP '['").find("is not a regular expression"), std::string::npos);
}

TEST_F(TapeDatabase, WritesOnlyTemporaryTables) {
  const std::string refused =
      "error: a tape can only be read; write to temporary tables instead (CREATE TEMP TABLE ...)";
  EXPECT_EQ(ask("CREATE TABLE t(a)"), refused);
  EXPECT_EQ(ask("ATTACH '/tmp/x.db' AS x"), refused);
  EXPECT_EQ(ask("ATTACH ':memory:' AS x"), refused);
  EXPECT_EQ(ask("PRAGMA journal_mode=WAL"), refused);
  EXPECT_EQ(ask("PRAGMA writable_schema=1"), refused);
  EXPECT_EQ(ask("VACUUM INTO '/tmp/heaptape-vacuum.db'"), refused);
  EXPECT_EQ(ask("CREATE VIRTUAL TABLE temp.v USING events"), refused);
  for (const char* leak : {"load_extension('x')", "fts3_tokenizer('simple')", "hex(fts3_tokenizer('simple'))"})
    EXPECT_NE(ask("SELECT " + std::string(leak)).find("error: "), std::string::npos) << leak;
  EXPECT_NE(ask("INSERT INTO events VALUES(1)").find("error: "), std::string::npos);
  EXPECT_NE(ask("DELETE FROM events").find("error: "), std::string::npos);
  EXPECT_NE(ask("UPDATE events SET size = 1").find("error: "), std::string::npos);
  EXPECT_NE(ask("DROP TABLE events").find("error: "), std::string::npos);
  EXPECT_EQ(ask("CREATE TEMP TABLE r(a); CREATE TEMP TRIGGER x AFTER INSERT ON r BEGIN SELECT 1; END"), refused);
  EXPECT_EQ(ask("CREATE TEMP TABLE t(a); CREATE INDEX temp.i ON t(a); INSERT INTO t VALUES(3), (4);"
                "UPDATE t SET a = 5 WHERE a = 3; DELETE FROM t WHERE a = 4; SELECT a FROM t; DROP TABLE t"),
            "5\n");
  EXPECT_EQ(ask("CREATE TEMP VIEW big AS SELECT * FROM blocks WHERE size > 1000; SELECT count(*) > 0 FROM big"), "1\n");
}

TEST_F(TapeDatabase, MistakesAreSentences) {
  EXPECT_EQ(ask("SELECT nonsense FROM events"), "error: no such column: nonsense");
  EXPECT_EQ(ask("SELECT 1 FROM events WHERE kind = \"malloc\""),
            "error: no such column: malloc; text is written in single quotes: 'malloc'");
  EXPECT_EQ(ask("SELEC 1"), "error: near \"SELEC\": syntax error");
  EXPECT_EQ(ask("SELECT 1; SELECT 2; SELEC 3"), "error: near \"SELEC\": syntax error");
  EXPECT_EQ(ask(""), "");
  EXPECT_EQ(ask(" ; -- nothing\n ;"), "");
  EXPECT_EQ(ask("SELECT 1; SELECT 2"), "1\n2\n");
  EXPECT_EQ(ask("SELECT length(zeroblob(900000000))"), "error: string or blob too big");
  EXPECT_NE(ask(std::string(5000, '(')).find("error: "), std::string::npos);
}

TEST_F(TapeDatabase, StopsWhenTheUserWantsIt) {
  stop = true;
  EXPECT_EQ(ask("SELECT count(*) FROM events a, events b, events c"), "");
  EXPECT_EQ(ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"), "");
  stop = false;
  EXPECT_EQ(ask("SELECT count(*) FROM events"), "3000\n") << "and the next statement runs";
  Lines lines;
  lines.most = 5;
  EXPECT_TRUE(database->run("SELECT number FROM events", lines).ok());
  EXPECT_EQ(lines.text, "1\n2\n3\n4\n5\n");
}

TEST_F(TapeDatabase, ReadsOnlyWhatConditionsLeave) {
  // A cross join with one event each would take minutes if every one were looked for from the start of the tape.
  EXPECT_EQ(ask("SELECT count(*) FROM events a JOIN events b ON b.number = a.number + 1"), "2999\n");
  EXPECT_NE(ask("EXPLAIN QUERY PLAN SELECT * FROM events ORDER BY number").find("SCAN"), std::string::npos);
  EXPECT_EQ(ask("EXPLAIN QUERY PLAN SELECT * FROM events ORDER BY number").find("TEMP B-TREE"), std::string::npos)
      << "they come in order";
}

TEST_F(DamagedTapeDatabase, GivesWhatIsLeft) {
  const std::uint64_t left = view->tape().event_count();
  EXPECT_EQ(ask("SELECT count(*) FROM events"), std::to_string(left - view->findings().unread_events) + "\n");
  EXPECT_EQ(ask("SELECT count(*), sum(size) FROM blocks WHERE free_event IS NULL"),
            std::to_string(view->findings().totals.live_blocks) + "|" +
                std::to_string(view->findings().totals.live_bytes) + "\n");
}

} // namespace
} // namespace heaptape
