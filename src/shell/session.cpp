#include "shell/session.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/number_text.h"

namespace heaptape {

Result<Session> Session::open(const std::string& path, const OpenSession& options) {
  Result<TapeReader> tape = TapeReader::open(path);
  if (!tape) return tape.error();
  return open(std::move(tape).value(), path, options);
}

Result<Session> Session::open(TapeReader tape, const std::string& path, const OpenSession& options) {
  Result<TapeView> view = TapeView::open(std::move(tape), path, options.view);
  if (!view) return view.error();
  Result<Session> session = from_view(std::move(view).value(), options.limit);
  if (session) session.value().parts_->symbol_options = options.view.symbols;
  return session;
}

Result<Session> Session::from_view(TapeView view, std::uint64_t limit) {
  auto parts = std::make_unique<Parts>(std::move(view));
  Moment end = parts->view.points().end;
  if (limit != 0 && limit < end.event) {
    Result<Moment> moment = parts->view.moment(std::to_string(limit));
    if (!moment) return moment.error();
    end = moment.value();
  }
  const HeapTotals* totals = &parts->view.findings().totals;
  std::optional<HeapCursor> there;
  if (totals->peak_event > end.event) {
    there.emplace(parts->view.tape(), parts->view.index());
    there->seek_event(end.event);
    totals = &there->totals();
  }
  parts->peak_bytes = totals->peak_bytes;
  parts->peak = {totals->peak_event, totals->peak_us};
  parts->event = parts->last_event = end.event;
  parts->time_us = parts->last_us = end.time_us;
  for (const Damage& place : parts->view.damage().places) parts->known_damage.insert(place.offset);
  return Session(std::move(parts));
}

HeapCursor& Session::heap() {
  if (!parts_->cursor) parts_->cursor.emplace(tape(), view().index());
  if (parts_->cursor->event() != parts_->event) parts_->cursor->seek_event(parts_->event);
  return *parts_->cursor;
}

void Session::move_to(const Moment& moment) {
  parts_->event = std::min(moment.event, parts_->last_event);
  parts_->time_us = std::min(moment.time_us, parts_->last_us);
  parts_->snapshot = moment.event <= parts_->last_event ? moment.snapshot : 0;
}

Result<Moment> Session::position(std::string_view text) const {
  PositionPoints points = view().points();
  points.end = {parts_->last_event, parts_->last_us};
  points.peak = parts_->peak;
  points.cursor = Moment{parts_->event, parts_->time_us};
  return find_position(text, points);
}

std::string Session::how_to_ask(std::string_view command, std::string_view arguments) const {
  std::string text = tape_words.empty() ? "" : "heaptape ";
  text += command;
  if (!tape_words.empty()) text += " " + tape_words;
  if (!arguments.empty()) text += " " + std::string(arguments);
  return "'" + text + "'";
}

void Session::note(const std::vector<Damage>& damage) {
  for (const Damage& one : damage) {
    if (parts_->known_damage.insert(one.offset).second) parts_->damage.push_back(one);
  }
}

std::vector<Damage> Session::take_damage() {
  if (parts_->cursor) note(parts_->cursor->damage());
  return std::exchange(parts_->damage, {});
}

const AddressSpace& Session::space() {
  if (!parts_->space || parts_->space_event != parts_->event) {
    parts_->space = address_space_at(tape(), heap().state());
    parts_->space_event = parts_->event;
  }
  return *parts_->space;
}

Result<SnapshotMemory*> Session::memory() {
  const Result<std::size_t> found = find_snapshot(tape(), parts_->event, parts_->snapshot);
  if (!found) return found.error();
  if (!parts_->memory || parts_->memory_snapshot != found.value()) {
    parts_->root_owners.reset();
    parts_->block_types.reset();
    parts_->type_reader.reset();
    parts_->memory_graph.reset();
    parts_->memory_stacks.reset();
    parts_->memory = std::make_unique<SnapshotMemory>(tape(), found.value(), parts_->symbol_options);
    parts_->memory_snapshot = found.value();
    parts_->memory_heap.reset();
  }
  return parts_->memory.get();
}

Result<SnapshotHeap*> Session::memory_graph() {
  const Result<SnapshotMemory*> found = memory();
  if (!found) return found.error();
  if (!parts_->memory_graph) {
    Result<std::unique_ptr<SnapshotHeap>> made = SnapshotHeap::make(tape(), *found.value(), memory_heap());
    if (!made) return made.error();
    parts_->memory_graph = std::move(made).value();
  }
  return parts_->memory_graph.get();
}

Result<BlockTypes*> Session::block_types() {
  const Result<SnapshotHeap*> heap = memory_graph();
  if (!heap) return heap.error();
  if (!parts_->block_types) parts_->block_types = BlockTypes::of(*heap.value(), names());
  return &*parts_->block_types;
}

Result<RootOwners*> Session::root_owners() {
  const Result<SnapshotHeap*> heap = memory_graph();
  if (!heap) return heap.error();
  if (!parts_->root_owners) parts_->root_owners = RootOwners::of(*heap.value(), symbols());
  return &*parts_->root_owners;
}

TypeReader& Session::type_reader() {
  if (!parts_->type_reader) parts_->type_reader.emplace(*parts_->memory, names());
  return *parts_->type_reader;
}

SnapshotStacks& Session::memory_stacks() {
  if (!parts_->memory_stacks) parts_->memory_stacks.emplace(tape(), *parts_->memory);
  return *parts_->memory_stacks;
}

HeapCursor& Session::memory_heap() {
  const std::uint64_t event = parts_->memory->facts().event;
  if (event == parts_->event) return heap();
  if (!parts_->memory_heap) {
    parts_->memory_heap.emplace(tape(), view().index());
    parts_->memory_heap->seek_event(event);
  }
  return *parts_->memory_heap;
}

ProgramSymbols& Session::symbols() {
  if (!parts_->symbols) parts_->symbols.emplace(tape(), parts_->symbol_options);
  return *parts_->symbols;
}

namespace {

std::optional<std::uint64_t> number_in(std::string_view text, int base) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number, base);
  if (text.empty() || status != std::errc{} || rest != end) return std::nullopt;
  return number;
}

// "16" or "0x10".
std::optional<std::uint64_t> offset_in(std::string_view text) {
  return text.starts_with("0x") ? number_in(text.substr(2), 16) : number_in(text, 10);
}

} // namespace

std::optional<std::uint64_t> plain_address(std::string_view text) {
  if (text == "0" || text == "(nil)") return 0;
  if (text.starts_with("0x") || text.starts_with("0X")) return number_in(text.substr(2), 16);
  return text.size() >= 8 ? number_in(text, 16) : std::nullopt;
}

Result<std::uint64_t> Session::address(std::string_view text) {
  if (const auto plain = plain_address(text)) return *plain;
  // The last sign of "symbol+offset"; names such as operator+ and operator-> hold some themselves.
  if (const std::size_t sign = text.find_last_of("+-"); sign != text.npos && sign != 0) {
    if (const auto offset = offset_in(text.substr(sign + 1))) {
      const Result<std::uint64_t> base = address(text.substr(0, sign));
      if (!base) return base.error();
      const bool plus = text[sign] == '+';
      if (plus ? base.value() > ~std::uint64_t{0} - *offset : base.value() < *offset) {
        return Error{ErrorCode::Usage, "'" + printable(text) + "' is not an address: it lies outside 64 bits"};
      }
      return plus ? base.value() + *offset : base.value() - *offset;
    }
  }
  const std::string shown = "'" + printable(text) + "'";
  std::vector<FoundSymbol> found = symbols().named(text);
  std::erase_if(found, [](const FoundSymbol& one) { return one.symbol->sort == SymbolSort::ThreadLocal; });
  // Copies of one function at one place, and a name that every file may have: the program's own comes first.
  if (found.empty()) {
    const bool missing = !symbols().problems().empty();
    return Error{ErrorCode::NotFound, shown + " is neither an address such as 0x5581c2e0 nor the name of a symbol" +
                                          (missing ? " (some of the program's files are not on this machine)" : "")};
  }
  const std::uint64_t address = found.front().address;
  const bool same = std::all_of(found.begin(), found.end(), [&](const FoundSymbol& one) {
    return one.address == address || one.module != found.front().module;
  });
  if (!same) {
    return Error{ErrorCode::Usage, shown + " names " + count_of(found.size(), "symbol") + "; 'symbol " +
                                       printable(text) + "' lists them, and an address says which is meant"};
  }
  return address;
}

} // namespace heaptape
