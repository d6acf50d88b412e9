// A tape opened to be asked, and a cursor on it. Every command of the shell works on one. One thread at a time, but stop() may come from
// a signal handler.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "analysis/moment/heap_cursor.h"
#include "analysis/space/address_space.h"
#include "base/result.h"
#include "report/contents/block_types.h"
#include "report/contents/root_owners.h"
#include "report/contents/snapshot_heap.h"
#include "report/contents/snapshot_memory.h"
#include "report/contents/snapshot_stacks.h"
#include "report/contents/type_reader.h"
#include "report/names/program_symbols.h"
#include "report/names/stack_text.h"
#include "report/text/text_style.h"
#include "report/view/tape_view.h"

namespace heaptape {

struct OpenSession {
  OpenView view{};
  std::uint64_t limit = 0; // the tape seems to end with this event; 0: with its last
};

// "0x..." or at least eight hexadecimal digits; nullopt: it is not an address, but may be a symbol.
std::optional<std::uint64_t> plain_address(std::string_view text);

// Movable; the parts stay where they are.
class Session {
public:
  // Stands at the end of the tape.
  static Result<Session> open(const std::string& path, const OpenSession& options = {});
  // The same on a tape that was opened from this path.
  static Result<Session> open(TapeReader tape, const std::string& path, const OpenSession& options = {});
  static Result<Session> from_view(TapeView view, std::uint64_t limit);

  const TapeView& view() const { return parts_->view; }
  const TapeReader& tape() const { return parts_->view.tape(); }
  StackNames& names() const { return parts_->view.names(); }

  // The heap at the cursor. Loaded when it is first asked for after a move; moving itself costs nothing.
  HeapCursor& heap();

  // Where the cursor stands: after this event.
  std::uint64_t event() const { return parts_->event; }
  std::uint64_t time_us() const { return parts_->time_us; }
  void move_to(const Moment& moment);

  // First and last moment: 0 and the last event, or the limit.
  std::uint64_t last_event() const { return parts_->last_event; }
  std::uint64_t last_us() const { return parts_->last_us; }

  // A position as the user writes it: see report/view/position.h.
  Result<Moment> position(std::string_view text) const;
  // 0x7f3c..., hexadecimal digits without the 0x when there are at least eight, a symbol's name, or one of these +offset or -offset.
  Result<std::uint64_t> address(std::string_view text);
  // Names by address and addresses by name, from the program's files.
  ProgramSymbols& symbols();
  // The address space at the cursor; valid until it moves. Worked out when it is first asked for after a move.
  const AddressSpace& space();
  // The memory at the last snapshot up to the cursor; valid until it moves.
  Result<SnapshotMemory*> memory();
  // The stacks of its threads, frame by frame; after memory() has given one.
  SnapshotStacks& memory_stacks();
  // What its blocks refer to, and what refers to them. Worked out when it is first asked for.
  Result<SnapshotHeap*> memory_graph();
  // What single blocks of it are; after memory() has given one.
  TypeReader& type_reader();
  // What all of them are. Worked out when it is first asked for.
  Result<BlockTypes*> block_types();
  // Which variables and blocks hold them. Worked out when it is first asked for.
  Result<RootOwners*> root_owners();
  // The heap at that snapshot; after memory() has given one.
  HeapCursor& memory_heap();
  // Stacks in words; remembers what it has named.
  StackText& stacks() { return parts_->stacks; }

  // When most was live, up to the last event.
  std::uint64_t peak_bytes() const { return parts_->peak_bytes; }
  const Moment& peak() const { return parts_->peak; }

  // Chunks of events that could not be read, whoever met them; each is told once, and not those of view().damage().
  void note(const std::vector<Damage>& damage);
  std::vector<Damage> take_damage();

  // How answers are to look; the caller sets it.
  TextStyle style{};

  // How a hint writes a command: "refs 0x5581c2e0" in the shell, "heaptape refs app.tape@2 0x5581c2e0" outside of it.
  std::string how_to_ask(std::string_view command, std::string_view arguments) const;
  // The tape and the moment as the command line names them; the caller sets it. Empty: in the shell.
  std::string tape_words{};

  // Whether the user asked the running command to end.
  bool should_stop() const { return parts_->stop.load(std::memory_order_relaxed); }
  std::function<bool()> stopper() const {
    return [flag = &parts_->stop] { return flag->load(std::memory_order_relaxed); };
  }
  void stop() { parts_->stop.store(true, std::memory_order_relaxed); }
  void go_on() { parts_->stop.store(false, std::memory_order_relaxed); }

private:
  struct Parts {
    explicit Parts(TapeView opened) : view(std::move(opened)), stacks(view.names()) {}
    TapeView view;
    StackText stacks;
    std::optional<ProgramSymbols> symbols{};
    std::optional<AddressSpace> space{};
    std::uint64_t space_event = 0; // that it is of
    std::unique_ptr<SnapshotMemory> memory{};
    std::size_t memory_snapshot = 0; // that it is of
    std::optional<HeapCursor> memory_heap{};
    std::optional<SnapshotStacks> memory_stacks{};
    std::unique_ptr<SnapshotHeap> memory_graph{};
    std::optional<TypeReader> type_reader{};
    std::optional<BlockTypes> block_types{};
    std::optional<RootOwners> root_owners{};
    SymbolOptions symbol_options{};
    std::optional<HeapCursor> cursor{};
    std::uint64_t event = 0, time_us = 0;
    std::uint64_t snapshot = 0; // number of the one that the cursor was put to; 0: of none
    std::uint64_t last_event = 0, last_us = 0;
    std::uint64_t peak_bytes = 0;
    Moment peak{};
    std::vector<Damage> damage{};           // not told yet
    std::set<std::uint64_t> known_damage{}; // offsets
    std::atomic<bool> stop = false;
  };
  explicit Session(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

  std::unique_ptr<Parts> parts_;
};

} // namespace heaptape
