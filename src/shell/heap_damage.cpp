#include "shell/heap_damage.h"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "analysis/moment/address_facts.h"
#include "base/number_text.h"
#include "shell/describe.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kHeader = 16, kFlags = 7, kPreviousInUse = 1;
// Whoever writes past a block's end seldom leaves more than this alone.
constexpr std::uint64_t kReach = 64;

const char* what_is_wrong(const HeapProblem& problem) {
  switch (problem.kind) {
  case HeapProblemKind::ChunkSize: return "the size in the header of a chunk is one that it cannot have";
  case HeapProblemKind::PreviousSize: return "the size that a free chunk repeats at its end is wrong";
  case HeapProblemKind::InUseFlag: return "a header says that the chunk before it is free, but a live block lies there";
  case HeapProblemKind::FreeNeighbours: return "two free chunks lie side by side; malloc would have joined them";
  case HeapProblemKind::LiveBlockIsFree: return "a list of free chunks leads to a live block";
  case HeapProblemKind::ListLink:
    return problem.in_free_memory ? "a link in a free chunk leads to no chunk, or to one that does not lead back"
                                  : "a list of free chunks begins where there is none";
  case HeapProblemKind::ListSize: return "the size in the header of a free chunk is not that of the list it is in";
  case HeapProblemKind::ListLength: return "a list of free chunks is not as long as it is counted";
  case HeapProblemKind::FreedTwice: return "a chunk is in the lists of free chunks twice: was it freed twice?";
  case HeapProblemKind::NotInList: return "a free chunk is in no list of free chunks";
  }
  return "";
}

// What the word is part of.
std::string part_text(const HeapProblem& problem) {
  if (problem.chunk == 0) return "a table of malloc";
  const char* const part = problem.place == problem.chunk + 8 ? "header"
                           : problem.place == problem.chunk + kHeader || problem.place == problem.chunk + kHeader + 8
                               ? "links"
                           : problem.place > problem.chunk && problem.in_free_memory ? "end"
                                                                                     : "";
  return *part != 0 ? fmt::format("{} of the chunk at {}", part, hex(problem.chunk)) : "a table of malloc";
}

// "48-byte block at 0x5581c2e0 of make_name names.cpp:12"
std::string block_words_of(Session& session, const BlockRanks& ranks, std::uint32_t block) {
  const std::string maker = session.stacks().site(StackId(ranks.group(block)));
  return fmt::format("{} at {}{}", block_words(ranks.bytes(block)), hex(ranks.begin(block)),
                     maker.empty() ? "" : " of " + printable(maker));
}

std::array<char, 8> bytes_of(std::uint64_t word) { return std::bit_cast<std::array<char, 8>>(word); }

// "0x4141414141414141  |AAAAAAAA|"; the text only if it may be one.
std::string word_text(std::uint64_t word) {
  std::string text;
  std::size_t readable = 0;
  for (const char c : bytes_of(word)) {
    const bool is_readable = c >= 0x20 && c < 0x7f;
    readable += is_readable;
    text += is_readable ? c : '.';
  }
  return hex(word) + (readable >= 4 ? "  |" + text + "|" : "");
}

std::uint64_t least_chunk(std::uint64_t bytes) { return usable_bytes(bytes) + 8; }

std::uint64_t chunk_bytes(SnapshotMemory& memory, std::uint64_t chunk) {
  return memory.cursor().word(chunk + 8).value_or(0) & ~kFlags;
}

// The chunk of the block before ends at this one, as far as the tape can tell.
bool is_next_to(const CheckedHeap& heap, const HeapProblem& problem) {
  if (problem.block_before == BlockRanks::kNone) return false;
  const std::uint64_t begin = heap.ranks.begin(problem.block_before);
  return begin - kHeader + least_chunk(heap.ranks.bytes(problem.block_before)) == problem.chunk;
}

// Of the block whose header it is.
std::optional<std::uint64_t> bytes_behind(const CheckedHeap& heap, const HeapDamage& damage) {
  const std::uint64_t begin = damage.problem.chunk + kHeader;
  const std::uint32_t block = damage.problem.block_behind;
  if (block != BlockRanks::kNone && heap.ranks.begin(block) == begin) return heap.ranks.bytes(block);
  if (damage.freed && damage.freed->address == begin) return damage.freed->size;
  return std::nullopt;
}

bool has_wrong_word(HeapProblemKind kind) {
  return kind != HeapProblemKind::FreedTwice && kind != HeapProblemKind::NotInList &&
         kind != HeapProblemKind::FreeNeighbours;
}

void expect(SnapshotMemory& memory, const CheckedHeap& heap, HeapDamage& damage) {
  const HeapProblem& problem = damage.problem;
  switch (problem.kind) {
  case HeapProblemKind::PreviousSize: damage.word = chunk_bytes(memory, problem.chunk); break;
  case HeapProblemKind::InUseFlag: damage.word = problem.value | kPreviousInUse; break;
  case HeapProblemKind::ChunkSize:
    if (const auto bytes = bytes_behind(heap, damage)) {
      const std::uint64_t least = least_chunk(*bytes);
      damage.expected =
          fmt::format("{}, or a little more: the block takes {}",
                      hex(least | (is_next_to(heap, problem) ? kPreviousInUse : 0)), count_of(least, "byte"));
    } else {
      damage.expected = "at least 0x20 and a multiple of 16, and flags below 8; not more than there is room for";
    }
    break;
  case HeapProblemKind::ListLink: damage.expected = "a link to a chunk of this list"; break;
  case HeapProblemKind::FreeNeighbours:
  case HeapProblemKind::LiveBlockIsFree:
  case HeapProblemKind::ListSize:
  case HeapProblemKind::ListLength:
  case HeapProblemKind::FreedTwice:
  case HeapProblemKind::NotInList: break;
  }
  if (damage.word) damage.expected = hex(*damage.word);
}

std::string_view culprit_text(const HeapDamage& damage) {
  if (damage.gap == 0) return "it ends right before the wrong bytes: was it written past its end?";
  return damage.gap <= 8 ? "malloc rounds it up to there: was it written past its end?"
                         : "was it written past its end?";
}

} // namespace

std::string_view problem_name(HeapProblemKind kind) {
  switch (kind) {
  case HeapProblemKind::ChunkSize: return "chunk_size";
  case HeapProblemKind::PreviousSize: return "previous_size";
  case HeapProblemKind::InUseFlag: return "in_use_flag";
  case HeapProblemKind::FreeNeighbours: return "free_neighbours";
  case HeapProblemKind::LiveBlockIsFree: return "live_block_is_free";
  case HeapProblemKind::ListLink: return "list_link";
  case HeapProblemKind::ListSize: return "list_size";
  case HeapProblemKind::ListLength: return "list_length";
  case HeapProblemKind::FreedTwice: return "freed_twice";
  case HeapProblemKind::NotInList: return "not_in_list";
  }
  return "";
}

HeapDamage heap_damage(Session& session, SnapshotMemory& memory, const CheckedHeap& heap, const HeapProblem& problem) {
  HeapDamage damage{.problem = problem, .what = what_is_wrong(problem)};
  if (problem.block_behind == BlockRanks::kNone && problem.chunk != 0) {
    AddressFacts facts = find_address_facts(
        session.tape(),
        {.address = problem.chunk + kHeader, .event = memory.facts().event, .should_stop = session.stopper()});
    session.note(facts.damage);
    damage.freed = std::move(facts.freed);
  }
  expect(memory, heap, damage);
  if (problem.block_before != BlockRanks::kNone) {
    const std::uint64_t end = heap.ranks.begin(problem.block_before) + heap.ranks.bytes(problem.block_before);
    damage.gap = problem.place - std::min(end, problem.place);
    // A free chunk has the room before it for itself.
    const bool may_reach = end <= problem.place + 8 && damage.gap <= kReach;
    if (may_reach && (!problem.in_free_memory || problem.place == problem.chunk)) damage.before = problem.block_before;
  }
  return damage;
}

std::string damage_text(Session& session, const CheckedHeap& heap, const HeapDamage& damage, std::uint64_t now_us) {
  const HeapProblem& problem = damage.problem;
  std::string text = session.style.alarm(hex(problem.place)) + ": " + damage.what + "\n";
  const auto line = [&](std::string_view what, const std::string& more) {
    text += fmt::format("  {:<10}{}\n", what, more);
  };
  if (has_wrong_word(problem.kind)) line("found", word_text(problem.value));
  if (!damage.expected.empty()) line("expected", damage.expected);
  if (problem.block_behind != BlockRanks::kNone) {
    line("header of", block_words_of(session, heap.ranks, problem.block_behind));
    text += session.stacks().frames(StackId(heap.ranks.group(problem.block_behind)), "    ", session.style);
  } else {
    line("in", part_text(problem));
  }
  if (damage.before != BlockRanks::kNone) {
    line("behind", block_words_of(session, heap.ranks, damage.before));
    text += fmt::format("    {}\n", culprit_text(damage));
    text += session.stacks().frames(StackId(heap.ranks.group(damage.before)), "    ", session.style);
  }
  if (damage.freed) {
    text += problem.in_free_memory ? "  the memory was freed, and may have been written to since:\n"
                                   : "  the last block of this chunk:\n";
    text += "  " + life_text(session, session.stacks(), *damage.freed, now_us);
  }
  return text;
}

void write_damage_json(JsonWriter& json, Session& session, const CheckedHeap& heap, const HeapDamage& damage) {
  const HeapProblem& problem = damage.problem;
  json.begin_object().field("kind", problem_name(problem.kind)).field("what", std::string_view(damage.what));
  json.field("address", std::string_view(hex(problem.place)));
  if (problem.chunk != 0) json.field("chunk", std::string_view(hex(problem.chunk)));
  if (has_wrong_word(problem.kind)) json.field("found", std::string_view(hex(problem.value)));
  if (damage.word) json.field("expected", std::string_view(hex(*damage.word)));
  if (!damage.expected.empty()) json.field("expected_text", std::string_view(damage.expected));
  const auto block = [&](std::string_view name, std::uint32_t number) {
    if (number == BlockRanks::kNone) return;
    json.key(name).begin_object().field("address", std::string_view(hex(heap.ranks.begin(number))));
    json.field("bytes", heap.ranks.bytes(number)).field("stack_id", heap.ranks.group(number)).key("stack");
    session.stacks().write_json(json, StackId(heap.ranks.group(number)));
    json.end_object();
  };
  block("header_of", problem.block_behind);
  block("behind", damage.before);
  if (damage.before != BlockRanks::kNone) json.field("gap_bytes", damage.gap);
  if (damage.freed) write_life_json(json.key("freed"), session.stacks(), *damage.freed);
  json.end_object();
}

} // namespace heaptape
