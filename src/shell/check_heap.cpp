// Whether the memory of glibc's malloc is sound at the last snapshot up to the cursor.
#include <algorithm>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/contents/checked_heap.h"
#include "report/text/json_writer.h"
#include "shell/all_commands.h"
#include "shell/contents_text.h"
#include "shell/describe.h"
#include "shell/heap_damage.h"
#include "shell/space_text.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kUsualDamages = 10;
constexpr std::size_t kArenasShown = 16;
constexpr CommandOption kCheckOptions[] = {{"-n N", "at most N damages in full (default: 10)"}, {"--json", "as JSON"}};

std::string_view state_name(HeapPartState state) {
  switch (state) {
  case HeapPartState::Sound: return "sound";
  case HeapPartState::Damaged: return "damaged";
  case HeapPartState::Changing: return "changing";
  case HeapPartState::NotWalked: return "partly seen";
  }
  return "";
}

// Behind a row.
std::string_view state_text(HeapPartState state) {
  switch (state) {
  case HeapPartState::Sound: return "";
  case HeapPartState::Damaged: return "  DAMAGED";
  case HeapPartState::Changing: return "  changing";
  case HeapPartState::NotWalked: return "  partly seen";
  }
  return "";
}

// Arenas that nobody used are left out, and of very many those that are sound.
std::string arenas_text(const TextStyle& style, const HeapCheck& check) {
  std::string text = style.dim(fmt::format("{:<10} {:>10} {:>10} {:>10} {:>9} {:>5} {:>12}", "arena", "live", "chunks",
                                           "free", "in chunks", "bins", "from system")) +
                     "\n";
  std::size_t number = 0, shown = 0, left_out = 0;
  for (const ArenaCheck& arena : check.arenas) {
    const std::string name = arena.main ? std::string("main heap") : fmt::format("arena {}", number);
    ++number;
    if (arena.system_bytes == 0 && arena.state == HeapPartState::Sound) continue;
    if (arena.state == HeapPartState::Sound && shown >= kArenasShown) {
      ++left_out;
      continue;
    }
    ++shown;
    text += fmt::format("{:<10} {:>10} {:>10} {:>10} {:>9} {:>5} {:>12}{}\n", name, bytes_text(arena.blocks.bytes),
                        with_separators(arena.blocks.chunks), bytes_text(arena.bins.bytes + arena.top_bytes),
                        with_separators(arena.bins.chunks + (arena.top_bytes != 0)), arena.used_bins,
                        bytes_text(arena.system_bytes), state_text(arena.state));
  }
  if (left_out != 0) text += fmt::format("… and {} that are sound\n", count_of(left_out, "arena"));
  return text;
}

std::string caches_text(const HeapCheck& check) {
  ChunkSum free;
  std::size_t found = 0, damaged = 0, changing = 0;
  for (const CacheCheck& cache : check.caches) {
    free += cache.free;
    found += cache.found;
    damaged += cache.state == HeapPartState::Damaged;
    changing += cache.state == HeapPartState::Changing;
  }
  if (found == 0) return "no thread has a cache\n";
  std::string text = fmt::format("{} of {}: {}", found == 1 ? "cache" : "caches", count_of(found, "thread"),
                                 count_of(free.chunks, "chunk") + ", " + bytes_text(free.bytes));
  if (damaged != 0) text += fmt::format("  {}DAMAGED", found == 1 ? "" : with_separators(damaged) + " ");
  if (changing != 0) text += fmt::format("  {} changing", with_separators(changing));
  return text + "\n";
}

bool has_state(const HeapCheck& check, HeapPartState state) {
  return std::ranges::find(check.arenas, state, &ArenaCheck::state) != check.arenas.end() ||
         std::ranges::find(check.caches, state, &CacheCheck::state) != check.caches.end();
}
bool is_all_judged(const HeapCheck& check) {
  return check.unseen == 0 && !has_state(check, HeapPartState::Changing) && !has_state(check, HeapPartState::NotWalked);
}

std::string parts_text(const TextStyle& style, const CheckedHeap& heap) {
  const HeapCheck& check = heap.check;
  std::string text = arenas_text(style, check) + caches_text(check);
  if (check.mapped.chunks != 0)
    text +=
        fmt::format("{} of {} with {} own\n", count_of(check.mapped.chunks, "block"), bytes_text(check.mapped.bytes),
                    check.mapped.chunks == 1 ? "a mapping of its" : "mappings of their");
  if (check.elsewhere.chunks != 0)
    text += fmt::format("{} of {} elsewhere: not this malloc's\n", count_of(check.elsewhere.chunks, "live block"),
                        bytes_text(check.elsewhere.bytes));
  if (has_state(check, HeapPartState::Changing))
    text += "changing: a thread was in malloc or free, so what does not fit together there does not count\n";
  if (has_state(check, HeapPartState::NotWalked))
    text += "partly seen: not all of its chunks are in the snapshot; the others are sound\n";
  return text;
}

std::string threads_text(const Session& session, const SnapshotMemory& memory, const CheckedHeap& heap) {
  const std::vector<ThreadState>& threads = memory.facts().threads;
  std::string text;
  for (const std::uint32_t number : heap.dying)
    text += fmt::format(
        "{} was about to end the program in malloc or free: what it was just changing may look damaged, too\n",
        thread_words(session, threads[number].tid));
  if (!heap.all_blocks_known)
    text += "events are missing on the tape, so the chunks are not compared with its live blocks\n";
  return text;
}

std::string verdict_text(const HeapCheck& check) {
  if (check.problems.empty())
    return is_all_judged(check) ? "No damage found." : "No damage found in what could be judged.";
  const bool is_cut = check.problems.size() >= HeapCheck::kMostProblems;
  return fmt::format("Damage found in {}{}.", is_cut ? "at least " : "", count_of(check.problems.size(), "place"));
}

void write_sum(JsonWriter& json, std::string_view name, const ChunkSum& sum) {
  json.key(name).begin_object().field("chunks", sum.chunks).field("bytes", sum.bytes).end_object();
}

void write_parts(JsonWriter& json, const SnapshotMemory& memory, const HeapCheck& check) {
  json.key("arenas").begin_array();
  for (const ArenaCheck& arena : check.arenas) {
    json.begin_object().field("address", std::string_view(hex(arena.address))).field("main", arena.main);
    json.field("state", state_name(arena.state)).field("problems", arena.problems);
    json.field("chunks", arena.chunks()).field("system_bytes", arena.system_bytes).field("top_bytes", arena.top_bytes);
    json.field("live_bytes", arena.block_bytes).field("used_bins", arena.used_bins);
    json.field("largest_free_bytes", arena.largest_free);
    write_sum(json, "live", arena.blocks);
    write_sum(json, "bins", arena.bins);
    write_sum(json, "fast_bins", arena.fast_bins);
    write_sum(json, "others", arena.others);
    json.end_object();
  }
  json.end_array().key("caches").begin_array();
  for (const CacheCheck& cache : check.caches) {
    json.begin_object().field("tid", memory.facts().threads[cache.thread].tid).field("found", cache.found);
    json.field("state", state_name(cache.state)).field("problems", cache.problems);
    write_sum(json, "free", cache.free);
    json.end_object();
  }
  json.end_array();
  write_sum(json, "mapped", check.mapped);
  write_sum(json, "elsewhere", check.elsewhere);
}

Error not_glibcs(const CheckedHeap& heap) {
  if (heap.is_hidden && heap.allocator == Allocator::Glibc)
    return {ErrorCode::NotFound,
            "the variables of glibc's malloc are missing in the snapshot, so its heap cannot be checked"};
  const std::string whose =
      heap.allocator == Allocator::Glibc
          ? "the program's blocks are not in the memory of glibc's malloc"
          : fmt::format("the program's allocator is {}, not glibc's malloc", allocator_name(heap.allocator));
  return {ErrorCode::Unsupported, whose + ", and only that one's heap can be checked"};
}

Result<> check_heap_command(Session& session, Call& call, Printer& out) {
  const bool as_json = call.flag("--json");
  const Result<std::uint64_t> most = call.count("-n", kUsualDamages);
  if (!most) return most.error();
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<SnapshotMemory*> found = session.memory();
  if (!found) return found.error();
  SnapshotMemory& memory = *found.value();
  const Result<CheckedHeap> checked = check_heap(session.tape(), memory, session.memory_heap(), session.memory_stacks(),
                                                 session.view().damage().missing_events != 0);
  if (!checked) return checked.error();
  const CheckedHeap& heap = checked.value();
  if (!heap.is_glibcs) return not_glibcs(heap);
  const std::vector<HeapProblem>& problems = heap.check.problems;
  if (!problems.empty()) call.note_problems();
  const std::size_t shown = std::min<std::uint64_t>(most.value(), problems.size());
  JsonWriter json;
  if (as_json) {
    json.begin_object().field("snapshot", memory.facts().number).field("event", memory.facts().event);
    json.field("damaged", !problems.empty())
        .field("all_judged", is_all_judged(heap.check))
        .field("problem_count", problems.size());
    json.key("damage").begin_array();
  } else if (!out.print(snapshot_text(session, memory.facts()) + "\n" + session.style.bold(verdict_text(heap.check)) +
                        "\n" + threads_text(session, memory, heap) + "\n" + parts_text(session.style, heap))) {
    return Unit{};
  }
  for (std::size_t i = 0; i < shown && !session.should_stop(); ++i) {
    const HeapDamage damage = heap_damage(session, memory, heap, problems[i]);
    if (as_json)
      write_damage_json(json, session, heap, damage);
    else if (!out.print("\n" + damage_text(session, heap, damage, memory.facts().time_us)))
      return Unit{};
  }
  if (as_json) {
    write_parts(json.end_array(), memory, heap.check);
    out.print(json.end_object().text() + "\n");
  } else if (shown < problems.size()) {
    out.print(fmt::format("\n… {} more; -n shows them\n", with_separators(problems.size() - shown)));
  }
  return Unit{};
}

} // namespace

const Command kCheckHeapCommand{
    .name = "check-heap",
    .arguments = "",
    .summary = "whether something wrote over the memory of malloc, at the last snapshot of memory",
    .help = "Goes through all chunks, bins and thread caches of glibc's malloc and compares\n"
            "them with the blocks that the tape calls live. For each damage: the word that\n"
            "is wrong, what should be there, whose block it belongs to, and the block before\n"
            "it, which may have been written past its end. What a thread was just changing\n"
            "is not judged. 'heaptape check-heap' ends with 1 where there is damage. In the\n"
            "shell 'check heap' will do.\n",
    .example = "check-heap -n 3",
    .group = CommandGroup::Memory,
    .run = check_heap_command,
    .options = kCheckOptions,
};

} // namespace heaptape
