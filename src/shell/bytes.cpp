// What memory held: bytes in hexadecimal and as text, with names for the pointers among them.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/text/json_writer.h"
#include "shell/all_commands.h"
#include "shell/contents_text.h"
#include "shell/variable.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kRow = 16;
constexpr std::uint64_t kUsual = 256;
constexpr std::uint64_t kMost = std::uint64_t{64} << 20;

std::string_view state_text(MemoryState state) {
  switch (state) {
  case MemoryState::None: return "nothing is mapped here";
  case MemoryState::Zero: return "zeros";
  case MemoryState::OfFile: return "as in the file, which is not here or is another one by now";
  case MemoryState::Refused: return "the kernel did not let heaptape read it";
  case MemoryState::LeftOut: return "left out: the program asked not to have it in dumps (MADV_DONTDUMP)";
  case MemoryState::Shared: return "shared with other processes, and too large to copy";
  case MemoryState::Damaged: return "damaged on the tape";
  case MemoryState::Fill:
  case MemoryState::Stored: break;
  }
  return "";
}

struct Line {
  std::uint64_t address = 0;
  std::array<std::byte, kRow> bytes{};
  std::size_t skip = 0; // before what was asked for
  std::size_t size = 0; // to the end of what is known
};

std::string row_text(const Line& line) {
  std::string hexadecimal, text;
  for (std::size_t i = 0; i < kRow; ++i) {
    const bool shown = i >= line.skip && i < line.size;
    const auto byte = std::to_integer<unsigned char>(line.bytes[i]);
    hexadecimal += i == 8 ? "  " : " ";
    hexadecimal += shown ? fmt::format("{:02x}", byte) : "  ";
    text += !shown ? ' ' : byte >= 0x20 && byte < 0x7f ? static_cast<char>(byte) : '.';
  }
  return fmt::format("{:#014x} {}  |{}|", line.address, hexadecimal, text);
}

std::string notes_text(Session& session, SnapshotMemory& memory, const Line& line) {
  std::string text;
  for (std::size_t at = 0; at + 8 <= line.size; at += 8) {
    if (at < line.skip) continue;
    std::uint64_t word = 0;
    std::memcpy(&word, &line.bytes[at], sizeof word);
    const std::string place = place_text(session, memory, word);
    if (!place.empty()) text += fmt::format("{}+{}: {}", text.empty() ? "" : ", ", at, place);
  }
  return text;
}

// The last page has none behind it.
std::uint64_t next_page(std::uint64_t address) {
  const std::uint64_t page = address & ~(kPageBytes - 1);
  return page > ~std::uint64_t{} - kPageBytes ? ~std::uint64_t{} : page + kPageBytes;
}

void print_lines(Session& session, SnapshotMemory& memory, std::uint64_t begin, std::uint64_t end, Printer& out) {
  std::optional<Line> last;
  bool starred = false;
  for (std::uint64_t at = begin & ~(kRow - 1); at < end && !session.should_stop(); at += kRow) {
    Line line{.address = at, .skip = at < begin ? static_cast<std::size_t>(begin - at) : 0};
    const auto wanted = static_cast<std::size_t>(std::min(kRow, end - at));
    line.size = memory.cursor().read(at, std::span(line.bytes).first(wanted));
    if (line.size <= line.skip) {
      // To the end of what is not known.
      std::uint64_t until = at;
      const MemoryState state = memory.cursor().state_at(std::max(at, begin));
      while (until < end && memory.cursor().state_at(until) == state) until = next_page(until);
      if (!out.print(fmt::format("{:#014x}  {}\n", std::max(at, begin), session.style.dim(state_text(state))))) return;
      if (until >= end) return;
      at = until - kRow;
      last.reset();
      continue;
    }
    const bool same = last && last->size == kRow && line.size == kRow && line.skip == 0 && last->bytes == line.bytes &&
                      at + kRow < end;
    if (same) {
      if (!std::exchange(starred, true) && !out.print("*\n")) return;
      continue;
    }
    starred = false;
    std::string text = row_text(line);
    if (const std::string notes = notes_text(session, memory, line); !notes.empty()) {
      const bool fits = session.style.width == 0 || text.size() + 2 + columns_of(notes) <= session.style.width;
      text += fits
                  ? "  " + session.style.dim(notes)
                  : "\n                " + session.style.dim(shortened(notes, std::max(session.style.width, 40U) - 16));
    }
    if (!out.print(text + "\n")) return;
    last = line;
  }
}

void write_json(JsonWriter& json, SnapshotMemory& memory, std::uint64_t begin, std::uint64_t end) {
  json.begin_object().field("snapshot", memory.facts().number).field("event", memory.facts().event);
  json.field("begin", std::string_view(fmt::format("{:#x}", begin)))
      .field("end", std::string_view(fmt::format("{:#x}", end)));
  std::vector<std::byte> bytes(static_cast<std::size_t>(end - begin));
  const std::size_t known = memory.cursor().read(begin, bytes);
  std::string digits;
  for (const std::byte byte : std::span(bytes).first(known))
    digits += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  json.field("bytes", std::string_view(digits));
  if (known < bytes.size()) json.field("ends_because", state_text(memory.cursor().state_at(begin + known)));
  json.end_object();
}

Result<std::uint64_t> behind(std::uint64_t begin, std::uint64_t count) {
  if (count > ~std::uint64_t{} - begin)
    return Error{ErrorCode::Usage, fmt::format("a range of {} from {:#x} reaches beyond the last address",
                                               count_of(count, "byte"), begin)};
  return begin + count;
}

// "64", "0x40", or an address behind the first.
Result<std::uint64_t> end_of(Session& session, const std::string& text, std::uint64_t begin) {
  const bool is_count = !text.empty() && text.size() < 9 &&
                        std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  if (is_count) return behind(begin, std::stoull(text));
  const Result<std::uint64_t> end = session.address(text);
  if (!end) return end.error();
  if (end.value() <= begin) return behind(begin, end.value());
  return end.value();
}

Result<> bytes(Session& session, Call& call, Printer& out) {
  const bool as_json = call.flag("--json");
  const std::optional<std::string> first = call.next(), second = call.next();
  if (!first) return Error{ErrorCode::Usage, "which address? bytes ADDR [N | END]"};
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<std::uint64_t> begin = session.address(*first);
  if (!begin) return begin.error();
  const Result<SnapshotMemory*> found = session.memory();
  if (!found) return found.error();
  SnapshotMemory& memory = *found.value();
  const std::optional<Block> block = session.memory_heap().find_around(begin.value());
  const std::optional<Variable> variable = block ? std::nullopt : variable_at(session, memory, begin.value());
  std::uint64_t end = begin.value() + std::min(kUsual, ~std::uint64_t{} - begin.value());
  if (second) {
    const Result<std::uint64_t> given = end_of(session, *second, begin.value());
    if (!given) return given.error();
    end = given.value();
  } else if (block || variable) {
    // The rest of it, if that is not much.
    const std::uint64_t rest = block ? block->address + std::max<std::uint64_t>(block->size, 1) : variable->end();
    end = begin.value() + std::min({rest - begin.value(), 4 * kUsual, ~std::uint64_t{} - begin.value()});
  }
  if (end - begin.value() > kMost) return Error{ErrorCode::Usage, "at most " + bytes_text(kMost) + " at a time"};
  if (as_json) {
    JsonWriter json;
    write_json(json, memory, begin.value(), end);
    out.print(json.text() + "\n");
    return Unit{};
  }
  std::string head = fmt::format("{:#x}", begin.value());
  const std::uint64_t offset = variable ? begin.value() - variable->begin : 0;
  if (variable)
    head += ": " + (offset != 0 ? fmt::format("+{:#x} of ", offset) : "") + variable_words(*variable);
  else if (const std::string place = place_text(session, memory, begin.value()); !place.empty())
    head += ": " + place;
  head += "\n" + snapshot_text(session, memory.facts());
  if (out.print(head + "\n")) print_lines(session, memory, begin.value(), end, out);
  return Unit{};
}

} // namespace

const Command kBytesCommand{
    .name = "bytes",
    .arguments = "ADDR [N | END]",
    .summary = "what memory held at the last snapshot: hexadecimal and text",
    .help = "Heap, stacks, variables and mappings, as copied by 'heaptape record --snapshot'\n"
            "or 'heaptape snapshot --contents'. N is a number of bytes, END the address\n"
            "behind the last one; without either, the rest of the block or of the variable,\n"
            "or 256 bytes.\n"
            "Words that are pointers are named on the right: +8 is the word at offset 8 of\n"
            "the row. Equal rows are shown once, then a star.\n",
    .example = "bytes 0x5581c2e0 64",
    .group = CommandGroup::Memory,
    .takes = Takes::Address,
    .run = bytes,
    .options = kJsonOption,
};

} // namespace heaptape
