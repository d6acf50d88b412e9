// The text of a churn log: what each source of allocations did since the snapshot before, and all in all.
// docs/guide/production-log.md describes it for readers; in short:
//
//   [3]========================================== 2026-11-15T20:03:06.104913Z
//   time=12.104913 why=churn churn=1049211/1048576 event=120345 sources=2/57
//   {total}            live:5636/13, alloc:+12200/+31=12200/31, free:+6564/+18=6564/18
//   {ca9f786f088a4a78} live:5436/12, alloc:+12000/+30=12000/30, free:+6564/+18=6564/18  Cache::insert cache.cpp:88
//     {0} app+0x11b0  Cache::insert  cache.cpp:88
//
// A source is a call stack, known by a hash that is the same in every run; two stacks with one hash are one source.
// Bytes stand before the slash, blocks behind it. On every line live = total of alloc - total of free, and the lines of
// a snapshot sum up to {total} where they hold what changed ("+"), in a snapshot of all sources everywhere. Where a
// snapshot is larger than a whole file may be, the sources with the least live bytes share a last line {rest}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/heap/cost.h"
#include "live/heap_snapshot.h"
#include "live/live_names.h"

namespace heaptape {

struct LogFacts {
  std::string program{}; // command line, for people
  std::uint32_t pid = 0;
  std::uint32_t collector_pid = 0;
  std::uint64_t start_realtime_ns = 0;
  std::string version{};
  std::uint64_t churn = 0;    // 0: not a reason
  std::uint64_t every_us = 0; // likewise
  std::string signal{};       // "USR1"; empty: likewise
  bool all = false;           // every source in every snapshot
};

// Needs memory for each source, whatever the number of snapshots. One thread at a time; the names must outlive it.
class ChurnLog {
public:
  ChurnLog(LogFacts facts, LiveNames& names) : facts_(std::move(facts)), names_(names) {}

  // The head of every file of the log. From here on every stack is explained again.
  std::string begin_file();

  // How much text a file can take. By default: any.
  struct Room {
    std::size_t here = SIZE_MAX;  // in the one that is open
    std::size_t whole = SIZE_MAX; // in a new one
  };
  struct Text {
    std::string text{};
    bool for_new_file = false; // and the text begins with what stands at its front
  };
  // The snapshot's modules and stacks are known to the names already. `why`: "churn", "time", "mark NAME", "exit", ...;
  // `all`: also sources that did not change.
  Text snapshot(const HeapSnapshot& snapshot, std::string_view why, bool all, const Room& room);
  std::string snapshot(const HeapSnapshot& shot, std::string_view why, bool all) {
    return snapshot(shot, why, all, Room{}).text;
  }
  // How the program ended.
  std::string end(const Summary& summary);

  // Snapshots that were wanted but left out, because the writing did not keep up; the next one reports them.
  void left_out(std::uint64_t count) { left_out_ += count; }
  std::uint64_t snapshots() const { return snapshots_; }

private:
  struct Source {
    std::uint64_t hash = 0;
    StackId stack{}; // one of those that it stands for
    Cost allocated{}, freed{};
    Cost new_allocated{}, new_freed{}; // since the snapshot before
    bool changed = false;
    std::string site{};             // the source in one line
    std::uint32_t explained_in = 0; // number of the file

    Cost live() const { return allocated - freed; }
  };
  // The sources of a snapshot, by live bytes, and its sums.
  struct Shown {
    std::vector<std::uint32_t> sources{};
    std::size_t changed = 0;
    Cost new_allocated{}, new_freed{};
  };
  // What a text says that need not be said again in its file.
  struct Told {
    std::vector<std::uint32_t> sources{};
    std::vector<std::string> modules{};
  };
  std::uint32_t source_of(StackId stack);
  std::vector<std::uint32_t> take_in(const HeapSnapshot& snapshot);
  Shown choose(const HeapSnapshot& snapshot, bool all);
  std::string lines_of(const HeapSnapshot& snapshot, const Shown& shown, std::size_t room, Told& told);
  std::string explain(const Source& source, Told& told);

  LogFacts facts_;
  LiveNames& names_;
  std::vector<Source> sources_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_hash_;
  std::vector<std::uint32_t> by_stack_; // 1 + number of the source; 0: not known yet
  std::unordered_set<std::string> modules_told_;
  std::uint32_t file_ = 0;
  std::uint64_t snapshots_ = 0;
  std::uint64_t snapshots_in_file_ = 0;
  std::uint64_t left_out_ = 0;
};

} // namespace heaptape
