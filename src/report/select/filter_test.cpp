#include "report/select/filter.h"

#include <gtest/gtest.h>

#include <random>

#include "report/names/stacks_for_test.h"
#include "report/select/filter_syntax.h"

namespace heaptape {
namespace {

// A program with three stacks and three threads, and one event of each sort.
class FilterLanguage : public testing::Test {
protected:
  FilterLanguage() {
    program.add_function("main", "/src/main.cpp", 10);
    program.add_function("_ZN5Cache6insertEi", "/src/cache.cpp", 120);
    program.add_function("xmalloc", "/src/xmalloc.c", 3);
    program.add_module("/usr/lib/libssl.so.3");
    program.add_function("ssl_read");
    insert = program.stack({"main", "_ZN5Cache6insertEi", "xmalloc"});
    read = program.stack({"main", "ssl_read"});
    names.emplace(program.modules, program.stacks, program.symbols, NameForm::Short);
    malloced = {.number = 100,
                .time_us = 2'000'000,
                .address = 0x7f00'0000'1000,
                .size = 5000,
                .stack = insert,
                .thread = ThreadId(1),
                .kind = EventKind::Malloc};
    freed = {.number = 200,
             .time_us = 3'000'000,
             .address = 0x7f00'0000'1000,
             .stack = read,
             .thread = ThreadId(3),
             .kind = EventKind::Free};
    moved = {.number = 300,
             .time_us = 4'000'000,
             .address = 0x7f00'0000'2000,
             .old_address = 0x7f00'0000'1000,
             .size = 64,
             .stack = StackId(),
             .thread = ThreadId(2),
             .kind = EventKind::Realloc};
    block = {.block = {0x7f00'0000'1000, 5000, 100, 2'000'000, 0},
             .owner = {insert, ThreadId(1)},
             .kind = EventKind::Malloc,
             .now_us = 10'000'000};
    dead = block;
    dead.freed = true;
    dead.freed_event = 200;
    dead.freed_us = 3'000'000;
    dead.freed_thread = ThreadId(3);
    dead.freed_stack = read;
  }

  Result<Filter> parse(std::string_view text, FilterOf of) {
    return Filter::parse(text, of, FilterNames{*names, threads, [](const std::string& name) -> Result<Moment> {
                                                 if (name == "peak") return Moment{150, 2'500'000};
                                                 return Error{ErrorCode::NotFound, "no such moment"};
                                               }});
  }
  // Which of the three events fit, as letters: m(alloc), f(ree), r(ealloc).
  std::string events(std::string_view text) {
    Result<Filter> filter = parse(text, FilterOf::Events);
    if (!filter) return filter.error().sentence;
    std::string fitting;
    if (filter.value().matches(malloced)) fitting += 'm';
    if (filter.value().matches(freed)) fitting += 'f';
    if (filter.value().matches(moved)) fitting += 'r';
    return fitting;
  }
  // Likewise: l(ive), d(ead).
  std::string blocks(std::string_view text) {
    Result<Filter> filter = parse(text, FilterOf::Blocks);
    if (!filter) return filter.error().sentence;
    std::string fitting;
    if (filter.value().matches(block)) fitting += 'l';
    if (filter.value().matches(dead)) fitting += 'd';
    return fitting;
  }
  std::string error(std::string_view text, FilterOf of = FilterOf::Events) {
    const Result<Filter> filter = parse(text, of);
    return filter ? "it is a good filter" : filter.error().sentence;
  }
  Filter::Bounds bounds(std::string_view text, FilterOf of = FilterOf::Events) {
    return parse(text, of).value().bounds();
  }

  test::Stacks program;
  StackId insert, read;
  std::optional<StackNames> names;
  std::vector<Thread> threads{{.id = ThreadId(1), .tid = 700, .name = "main"},
                              {.id = ThreadId(2), .tid = 701, .name = "worker"},
                              {.id = ThreadId(3), .tid = 702, .name = "worker"}};
  Event malloced, freed, moved;
  BlockFacts block, dead;
};

TEST_F(FilterLanguage, EmptyFilterIsEverything) {
  EXPECT_EQ(events(""), "mfr");
  EXPECT_EQ(events("  \t"), "mfr");
  EXPECT_TRUE(parse("", FilterOf::Events).value().matches_everything());
  EXPECT_FALSE(parse("event>0", FilterOf::Events).value().matches_everything());
}

TEST_F(FilterLanguage, NumbersAreComparedInAllWays) {
  EXPECT_EQ(events("event=200"), "f");
  EXPECT_EQ(events("event!=200"), "mr");
  EXPECT_EQ(events("event<200"), "m");
  EXPECT_EQ(events("event<=200"), "mf");
  EXPECT_EQ(events("event > 200"), "r");
  EXPECT_EQ(events("event>=200"), "fr");
  EXPECT_EQ(events("event in 100..200"), "mf");
  EXPECT_EQ(events("event in 200.."), "fr");
  EXPECT_EQ(events("event in ..200"), "mf");
  EXPECT_EQ(events("event<0"), "");
  EXPECT_EQ(events("event>18446744073709551615"), "");
  EXPECT_EQ(events("not event<0"), "mfr");
}

TEST_F(FilterLanguage, AndBindsCloserThanOrAndNotCloserThanAnd) {
  EXPECT_EQ(events("event=100 or event=200 and event=300"), "m");
  EXPECT_EQ(events("(event=100 or event=200) and event<300"), "mf");
  EXPECT_EQ(events("not event=100 and event<300"), "f");
  EXPECT_EQ(events("not (event=100 or event=300)"), "f");
  EXPECT_EQ(events("not not event=100"), "m");
  EXPECT_EQ(events("NOT event=100 AND event<300 OR event=300"), "fr");
}

TEST_F(FilterLanguage, BytesTimesAndMomentsHaveUnits) {
  EXPECT_EQ(events("size>1k"), "m");
  EXPECT_EQ(events("size=5kB"), "m");
  EXPECT_EQ(events("size<1KiB"), "r");
  EXPECT_EQ(events("time>2.5s"), "fr");
  EXPECT_EQ(events("time in 2000ms..3s"), "mf");
  EXPECT_EQ(events("event>peak"), "fr");
  EXPECT_EQ(events("time<peak"), "m");
}

TEST_F(FilterLanguage, WhatIsNotThereFitsNoComparison) {
  EXPECT_EQ(events("size<1M"), "mr") << "a release has no size";
  EXPECT_EQ(events("size!=64"), "m");
  EXPECT_EQ(events("not size=64"), "mf");
  EXPECT_EQ(events("old!=0x1"), "r");
  EXPECT_EQ(blocks("freed_thread!=1"), "d");
}

TEST_F(FilterLanguage, ThreadsHaveNumbersKernelIdsAndNames) {
  EXPECT_EQ(events("thread=3"), "f");
  EXPECT_EQ(events("thread=701"), "r");
  EXPECT_EQ(events("thread=worker"), "fr");
  EXPECT_EQ(events("thread!=worker"), "m");
  EXPECT_EQ(events("thread~^ma"), "m");
  EXPECT_EQ(events("thread!~^ma"), "fr");
  EXPECT_EQ(events("thread~nobody"), "");
  EXPECT_EQ(events("thread>=2"), "fr");
  EXPECT_EQ(events("thread in 1..2"), "mr");
}

TEST_F(FilterLanguage, KindsHaveNamesGroupsAndPatterns) {
  EXPECT_EQ(events("kind=malloc"), "m");
  EXPECT_EQ(events("kind=malloc,free"), "mf");
  EXPECT_EQ(events("kind=alloc"), "mr");
  EXPECT_EQ(events("kind=release"), "fr");
  EXPECT_EQ(events("kind!=alloc"), "f");
  EXPECT_EQ(events("kind~alloc$"), "mr");
  EXPECT_EQ(blocks("kind=alloc"), "ld");
  block.kind = EventKind::None;
  EXPECT_EQ(blocks("kind=alloc"), "d");
  EXPECT_EQ(blocks("kind!=free"), "d") << "not known is not different";
}

TEST_F(FilterLanguage, AddressesAreHexAndRangesAsProcMapsWritesThem) {
  EXPECT_EQ(events("address=0x7f0000001000"), "mf");
  EXPECT_EQ(events("address=7f0000001000"), "mf");
  EXPECT_EQ(events("address in 0x7f0000001000..0x7f0000002000"), "mfr");
  EXPECT_EQ(events("address in 7f0000001000-7f0000002000"), "mf") << "the end of such a range is outside";
  EXPECT_EQ(events("old=0x7f0000001000"), "r");
  EXPECT_EQ(blocks("covers=0x7f0000001000"), "ld");
  EXPECT_EQ(blocks("covers=0x7f0000002387"), "ld");
  EXPECT_EQ(blocks("covers=0x7f0000002388"), "");
  EXPECT_EQ(blocks("covers!=0x7f0000002388"), "ld");
}

TEST_F(FilterLanguage, NamesAreLookedForOnTheWholeStack) {
  EXPECT_EQ(events("fn=Cache::insert"), "m");
  EXPECT_EQ(events("fn=main"), "mf");
  EXPECT_EQ(events("fn~^main$"), "mf");
  EXPECT_EQ(events("fn!=main"), "r") << "holds when no frame is main, and without frames none is";
  EXPECT_EQ(events("fn!~Cache"), "fr");
  EXPECT_EQ(events("fn=\"Cache::insert(int)\""), "m") << "the full name serves too";
  EXPECT_EQ(events("fn~insert\\(int\\)"), "m");
  EXPECT_EQ(events("by=Cache::insert"), "m") << "xmalloc is plumbing";
  EXPECT_EQ(events("by=main"), "");
  EXPECT_EQ(events("file=cache.cpp"), "m");
  EXPECT_EQ(events("file=ache.cpp"), "");
  EXPECT_EQ(events("file=src/cache.cpp:120"), "m");
  EXPECT_EQ(events("file=cache.cpp:121"), "");
  EXPECT_EQ(events("file~'\\.cpp$'"), "mf");
  EXPECT_EQ(events("module=libssl.so.3"), "f");
  EXPECT_EQ(events("module~libssl"), "f");
  EXPECT_EQ(events("stack=" + std::to_string(insert.value)), "m");
}

TEST_F(FilterLanguage, BlocksHaveAgesAndEnds) {
  EXPECT_EQ(blocks("age>5s"), "l");
  EXPECT_EQ(blocks("age=1s"), "d") << "it lived that long";
  EXPECT_EQ(blocks("lifetime<=1s"), "d");
  EXPECT_EQ(blocks("not freed"), "l");
  EXPECT_EQ(blocks("live"), "l");
  EXPECT_EQ(blocks("freed and freed_event=200 and freed_time=3s and freed_thread=3 and freed_fn=ssl_read"), "d");
  EXPECT_EQ(blocks("freed_fn!=nobody"), "d") << "a live block was freed by no function at all";
  EXPECT_EQ(blocks("size>1k and thread=1 and fn~\"Cache\" and age>2s and not freed"), "l");
}

TEST_F(FilterLanguage, PatternsMayHoldParenthesesOperatorsAndQuotes) {
  EXPECT_EQ(events("fn~(Cache|ssl)"), "mf");
  EXPECT_EQ(events("(fn~Cache)"), "m");
  EXPECT_EQ(events("(fn~(Cache|nobody) or event=300)"), "mr");
  EXPECT_EQ(events("fn~~Cache"), "") << "a destructor";
  EXPECT_EQ(events("fn~\"a\\\"b\" or event=100"), "m");
  EXPECT_EQ(events("fn=\"Cache::insert\" and event=100"), "m");
  EXPECT_EQ(events("fn=''"), "");
}

TEST_F(FilterLanguage, ErrorsPointAtThePlace) {
  EXPECT_EQ(error("size>1M and sise=3"), "'sise' is not a field; did you mean 'size'?\n"
                                         "  size>1M and sise=3\n"
                                         "              ^");
  EXPECT_EQ(error("colour=3"), "'colour' is not a field; known are event, time, thread, kind, address, old, size, "
                               "stack, fn, by, file and module\n"
                               "  colour=3\n"
                               "  ^");
  EXPECT_EQ(error("size>lots"), "'lots' is not a number of bytes such as 4096, 12kB, 200M or 1.5GiB\n"
                                "  size>lots\n"
                                "       ^");
  EXPECT_EQ(error("age>10s"), "'age' is a field of blocks, not of events\n  age>10s\n  ^");
  EXPECT_EQ(error("old=0x1", FilterOf::Blocks), "'old' is a field of events, not of blocks\n  old=0x1\n  ^");
  EXPECT_EQ(error("size"), "'size' needs a comparison, such as size>1M\n  size\n  ^");
  EXPECT_EQ(error("freed=1", FilterOf::Blocks), "'freed' stands alone: freed, or not freed\n  freed=1\n  ^");
  EXPECT_EQ(error("size>1 thread=3"), "'and' or 'or' is missing here\n  size>1 thread=3\n         ^");
  EXPECT_EQ(error("(size>1"), "this '(' is never closed\n  (size>1\n  ^");
  EXPECT_EQ(error("size>1)"), "this ')' closes nothing\n  size>1)\n        ^");
  EXPECT_EQ(error("fn~\"x"), "this quote is never closed\n  fn~\"x\n     ^");
  EXPECT_EQ(error("size>"), "a value is missing after 'size'\n  size>\n       ^");
  EXPECT_EQ(error("size>1 and"), "the filter ends where a field is expected\n  size>1 and\n            ^");
  EXPECT_EQ(error("size=>1"), "a comparison is expected here: = != < <= > >= ~ or !~\n  size=>1\n      ^");
  EXPECT_EQ(error("size>1 && event=3"), "write 'and' instead of '&&'\n  size>1 && event=3\n         ^");
  EXPECT_EQ(error("!size>1"), "write 'not' instead of '!'\n  !size>1\n  ^");
  EXPECT_EQ(error("size in 1"), "a range is written with two dots: 1k..64k\n  size in 1\n          ^");
  EXPECT_EQ(error("size in 2..1"), "this range ends before it begins\n  size in 2..1\n          ^");
  EXPECT_EQ(error("thread=9"), "no thread 9 on this tape; 'heaptape info' lists them\n  thread=9\n         ^");
  EXPECT_EQ(error("thread=nobody"),
            "no thread is called 'nobody'; 'heaptape info' lists them\n  thread=nobody\n         ^");
  EXPECT_EQ(error("time>5"), "'5' is not a time such as 12.5s or 200ms, a mark, start, peak or end\n"
                             "  time>5\n"
                             "       ^");
  EXPECT_EQ(error("fn<main"), "names have no order; write fn=NAME or fn~EXPRESSION\n  fn<main\n     ^");
  EXPECT_EQ(error("kind>malloc"), "kinds have no order; write kind=malloc,free or kind~new\n  kind>malloc\n       ^");
  EXPECT_EQ(error("size~1"), "'size' is a number, and ~ compares text\n  size~1\n       ^");
  EXPECT_EQ(error("address=123"), "'123' is not an address such as 0x7f3c00001230\n  address=123\n          ^");
  EXPECT_NE(error("fn~[").find("is not a regular expression"), std::string::npos);
}

TEST_F(FilterLanguage, CaretStandsRightBehindWideTextAndInLongFilters) {
  EXPECT_EQ(error("fn=\"für\" x"), "'and' or 'or' is missing here\n  fn=\"für\" x\n           ^");
  EXPECT_EQ(error("fn=\"\t\" x"), "'and' or 'or' is missing here\n  fn=\"\\x09\" x\n            ^");
  const std::string sentence = error(std::string(500, ' ') + "x" + std::string(500, ' '));
  EXPECT_LT(sentence.size(), 500u);
  const std::size_t line = sentence.find("\n  ") + 1, caret_line = sentence.rfind('\n') + 1;
  EXPECT_EQ(sentence.find("x ", line) - line, sentence.rfind('^') - caret_line);
}

TEST_F(FilterLanguage, NestingIsBounded) {
  EXPECT_EQ(events(std::string(50, '(') + "event=100" + std::string(50, ')')), "m");
  EXPECT_NE(error(std::string(100'000, '(')).find("nested too deeply"), std::string::npos);
  std::string nots;
  for (int i = 0; i < 10'000; ++i) nots += "not ";
  EXPECT_NE(error(nots + "event=1").find("nested too deeply"), std::string::npos);
  std::string chain = "event=1";
  for (int i = 0; i < 20'000; ++i) chain += " or event=100";
  EXPECT_EQ(events(chain), "m") << "a long chain is not deep";
}

TEST_F(FilterLanguage, BoundsFollowFromTheWholeFilter) {
  constexpr std::uint64_t kLast = Filter::Bounds::kLast;
  EXPECT_EQ(bounds(""), Filter::Bounds{});
  EXPECT_EQ(bounds("event>5 and time<=2s"), (Filter::Bounds{6, kLast, 0, 2'000'000, 0, kLast}));
  EXPECT_EQ(bounds("event in 5..7 or event in 20..30"), (Filter::Bounds{5, 30, 0, kLast, 0, kLast}));
  EXPECT_EQ(bounds("event=5 or size>3"), Filter::Bounds{});
  EXPECT_EQ(bounds("not (event<5 or event>7)"), (Filter::Bounds{5, 7, 0, kLast, 0, kLast}));
  EXPECT_EQ(bounds("not (event in 5..7)"), Filter::Bounds{});
  EXPECT_EQ(bounds("address!=0x5"), Filter::Bounds{});
  EXPECT_EQ(bounds("covers=0x50", FilterOf::Blocks), (Filter::Bounds{0, kLast, 0, kLast, 0, 0x50}));
}

TEST_F(FilterLanguage, SaysWhatItLooksAt) {
  const auto blocks_filter = [&](std::string_view text) { return parse(text, FilterOf::Blocks).value(); };
  EXPECT_TRUE(blocks_filter("fn~main and thread=1 and stack=3").needs_owner_only());
  EXPECT_FALSE(blocks_filter("fn~main and size>1").needs_owner_only());
  EXPECT_TRUE(blocks_filter("kind=new").needs_kind());
  EXPECT_FALSE(blocks_filter("size>1").needs_kind());
  EXPECT_TRUE(blocks_filter("not freed").needs_freed());
  EXPECT_FALSE(blocks_filter("age>1s").needs_freed());
  EXPECT_TRUE(blocks_filter("age>1s").needs_now());
}

// The same filter as a tree that is looked at in the plainest way.
struct Naive {
  std::string text;
  std::function<bool(const Event&)> fits;
};
Naive random_filter(std::mt19937& random, int depth) {
  const auto below = [&](unsigned end) { return static_cast<unsigned>(random() % end); };
  if (depth == 0 || below(4) == 0) {
    const std::uint64_t value = below(20);
    const std::string shown = std::to_string(value);
    switch (below(6)) {
    case 0: return {"event<" + shown, [=](const Event& e) { return e.number < value; }};
    case 1: return {"event!=" + shown, [=](const Event& e) { return e.number != value; }};
    case 2: return {"time>=" + shown + "us", [=](const Event& e) { return e.time_us >= value; }};
    case 3: return {"size>" + shown, [=](const Event& e) { return e.kind != EventKind::Free && e.size > value; }};
    case 4: return {"kind=free", [](const Event& e) { return e.kind == EventKind::Free; }};
    default:
      return {"address in " + std::string("0x") + "0..0x" + shown,
              [=](const Event& e) { return e.address <= std::stoull(shown, nullptr, 16); }};
    }
  }
  const Naive a = random_filter(random, depth - 1), b = random_filter(random, depth - 1);
  switch (below(3)) {
  case 0: return {"not (" + a.text + ")", [=](const Event& e) { return !a.fits(e); }};
  case 1: return {"(" + a.text + ") and (" + b.text + ")", [=](const Event& e) { return a.fits(e) && b.fits(e); }};
  default: return {"(" + a.text + ") or (" + b.text + ")", [=](const Event& e) { return a.fits(e) || b.fits(e); }};
  }
}

TEST_F(FilterLanguage, RandomFiltersFitWhatThePlainestReadingSays) {
  std::mt19937 random(4711);
  for (int round = 0; round < 2000; ++round) {
    const Naive naive = random_filter(random, 5);
    Result<Filter> filter = parse(naive.text, FilterOf::Events);
    ASSERT_TRUE(filter.ok()) << filter.error().sentence;
    const Filter::Bounds& limits = filter.value().bounds();
    for (int i = 0; i < 30; ++i) {
      const Event event{.number = random() % 20,
                        .time_us = random() % 20,
                        .address = random() % 0x20,
                        .size = random() % 20,
                        .stack = {},
                        .thread = {},
                        .kind = random() % 2 == 0 ? EventKind::Free : EventKind::Malloc};
      const bool fits = naive.fits(event);
      ASSERT_EQ(filter.value().matches(event), fits) << naive.text;
      if (!fits) continue;
      ASSERT_TRUE(limits.first_event <= event.number && event.number <= limits.last_event) << naive.text;
      ASSERT_TRUE(limits.first_us <= event.time_us && event.time_us <= limits.last_us) << naive.text;
      ASSERT_TRUE(limits.first_address <= event.address && event.address <= limits.last_address) << naive.text;
    }
  }
}

TEST_F(FilterLanguage, EveryExampleOfTheFieldsIsAGoodFilter) {
  for (const FilterField& field : filter_fields()) {
    const FilterOf of = field.of_events ? FilterOf::Events : FilterOf::Blocks;
    EXPECT_TRUE(parse(field.example, of).ok()) << error(field.example, of);
  }
}

} // namespace
} // namespace heaptape
