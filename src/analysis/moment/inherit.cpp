#include "analysis/moment/inherit.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "analysis/heap/live_map.h"
#include "tape/contents_codec.h"
#include "tape/inherited_codec.h"

namespace heaptape {

namespace {

// Forks inside forks that are followed back; deeper ones lack what the first had.
constexpr unsigned kMostParents = 64;

std::uint64_t number_in(const Meta& meta, const char* name) {
  const auto found = meta.find(name);
  std::uint64_t number = 0;
  if (found != meta.end()) std::from_chars(found->second.data(), found->second.data() + found->second.size(), number);
  return number;
}

// The stacks of a tape, and more that come from others: the same frames are the same stack.
class StackTable {
public:
  explicit StackTable(const std::vector<StackNode>& nodes) : nodes_(nodes), known_(nodes.size()) {
    for (std::uint32_t id = 1; id < nodes_.size(); ++id) ids_.try_emplace({nodes_[id].parent.value, nodes_[id].pc}, id);
  }

  // The stack of another tape in this table.
  class Translation {
  public:
    Translation(StackTable& table, const std::vector<StackNode>& from) : table_(table), from_(from), to_(from.size()) {}
    StackId operator()(StackId id) {
      std::vector<std::uint32_t> path; // innermost first; a parent's id is smaller than its child's, so this ends
      while (id.value != 0 && id.value < to_.size() && to_[id.value] == 0) {
        path.push_back(id.value);
        id = from_[id.value].parent;
      }
      std::uint32_t at = id.value < to_.size() ? to_[id.value] : 0;
      for (auto node = path.rbegin(); node != path.rend(); ++node) at = to_[*node] = table_.add(at, from_[*node].pc);
      return StackId(at);
    }

  private:
    StackTable& table_;
    const std::vector<StackNode>& from_;
    std::vector<std::uint32_t> to_;
  };

  std::span<const StackNode> added() const { return std::span(nodes_).subspan(known_); }
  StackId first_added() const { return StackId(static_cast<std::uint32_t>(known_)); }

private:
  std::uint32_t add(std::uint32_t parent, std::uint64_t pc) {
    const auto [found, is_new] = ids_.try_emplace({parent, pc}, static_cast<std::uint32_t>(nodes_.size()));
    if (!is_new) return found->second;
    if (nodes_.size() >= format::kMaxStackNodes) {
      ids_.erase(found);
      return parent; // without its innermost frames
    }
    nodes_.push_back({StackId(parent), pc});
    return found->second;
  }

  std::vector<StackNode> nodes_;
  std::size_t known_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> ids_;
};

// What is live at one moment of a tape, in some 45 bytes per block. Of all blocks but those that came with it, the stack is
// one of the tape's.
class LiveBlocks {
public:
  // Blocks whose stacks are right already; their ages are those at time 0.
  void inherit(const std::vector<InheritedBlock>& blocks) {
    for (const InheritedBlock& block : blocks)
      make(block.address, block.size,
           {.time_us = block.age_us, .stack = block.stack.value, .kind = block.kind, .is_older = true});
  }

  void play(const TapeReader& tape, std::uint64_t last) {
    EventCursor events = tape.events();
    for (auto run = events.next_run_until(last); !run.empty(); run = events.next_run_until(last))
      for (const Event& event : run) apply(event);
  }

  // After this, all stacks are right.
  void translate(StackTable::Translation& translation) {
    live_.for_each([&](std::uint64_t, const LiveBlock& block) {
      Slot& slot = slots_[block.allocated_at];
      if (!slot.is_older) slot.stack = translation(StackId(slot.stack)).value;
    });
  }

  // How many of the blocks the process ended itself, and by which events.
  std::vector<std::uint64_t> find_releases(const TapeReader& tape, Inheritance& figures) {
    std::vector<std::uint64_t> releases;
    if (tape.summary() && tape.summary()->unknown_releases == 0) return releases;
    const auto end = [&](std::uint64_t address, std::uint64_t event) {
      const std::optional<LiveBlock> block = live_.find(address);
      if (!block || slots_[block->allocated_at].has_ended) return;
      slots_[block->allocated_at].has_ended = true;
      if (event == 0) return;
      slots_[block->allocated_at].is_released = true;
      releases.push_back(event);
      ++figures.released_blocks;
      figures.released_bytes += block->size;
    };
    EventCursor events = tape.events();
    for (auto run = events.next_run(); !run.empty(); run = events.next_run()) {
      for (const Event& event : run) {
        if (is_release(event.kind)) end(event.address, event.number);
        if (is_reallocation(event.kind) && !event.old_released) end(event.old_address, event.number);
        if (is_allocation(event.kind) || is_reallocation(event.kind)) end(event.address, 0);
      }
    }
    return releases;
  }

  // By address. If there are more than `most`, those that were released, then the largest.
  std::vector<InheritedBlock> at(std::uint64_t time_us, std::size_t most) const {
    std::uint64_t least = 0, room = most; // smaller ones are left out, and there is room for `room` of this size
    if (live_.size() > most) {
      std::vector<std::uint64_t> sizes;
      sizes.reserve(live_.size());
      live_.for_each([&](std::uint64_t, const LiveBlock& block) { sizes.push_back(order_of(block)); });
      const auto last = sizes.begin() + static_cast<std::ptrdiff_t>(most - 1);
      std::nth_element(sizes.begin(), last, sizes.end(), std::greater<>());
      least = *last;
      room = static_cast<std::uint64_t>(std::count(sizes.begin(), last + 1, least));
    }
    std::vector<InheritedBlock> result;
    result.reserve(std::min<std::size_t>(live_.size(), most));
    live_.for_each([&](std::uint64_t address, const LiveBlock& block) {
      if (order_of(block) < least || (order_of(block) == least && room == 0)) return;
      if (order_of(block) == least) --room;
      const Slot& slot = slots_[block.allocated_at];
      const std::uint64_t age_us = slot.is_older ? slot.time_us + time_us : time_us - std::min(time_us, slot.time_us);
      result.push_back({address, block.size, StackId(slot.stack), slot.kind, age_us});
    });
    std::sort(result.begin(), result.end(),
              [](const InheritedBlock& a, const InheritedBlock& b) { return a.address < b.address; });
    return result;
  }

  void count(Inheritance& figures) const {
    figures.blocks = live_.size();
    live_.for_each([&](std::uint64_t, const LiveBlock& block) { figures.bytes += block.size; });
  }

private:
  struct Slot {
    std::uint64_t time_us = 0; // when it was made; of an older one, its age
    std::uint32_t stack = 0;
    EventKind kind = EventKind::None;
    bool is_older = false;
    bool has_ended = false;   // on the tape of the process that has them
    bool is_released = false; // by a call that the tape names
  };

  std::uint64_t order_of(const LiveBlock& block) const {
    return slots_[block.allocated_at].is_released ? ~std::uint64_t{0} : block.size;
  }

  void make(std::uint64_t address, std::uint64_t size, const Slot& slot) {
    if (address == 0) return;
    drop(address);
    std::size_t at = slots_.size();
    if (free_.empty()) {
      slots_.push_back(slot);
    } else {
      at = free_.back();
      free_.pop_back();
      slots_[at] = slot;
    }
    live_.insert(address, {size, at});
  }
  void drop(std::uint64_t address) {
    LiveBlock block;
    if (address != 0 && live_.take(address, block)) free_.push_back(static_cast<std::uint32_t>(block.allocated_at));
  }

  void apply(const Event& event) {
    if (is_release(event.kind)) return drop(event.address);
    const bool is_realloc = is_reallocation(event.kind);
    if (!is_realloc && !is_allocation(event.kind)) return;
    if (is_realloc && !event.old_released) drop(event.old_address);
    make(event.address, event.size, {.time_us = event.time_us, .stack = event.stack.value, .kind = event.kind});
  }

  LiveMap live_; // the number of a block is that of its slot
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

// What a process that was forked there has from all before it, with stacks of `table`.
Result<LiveBlocks> blocks_at_fork(const ForkOrigin& origin, const OpenParent& open_parent, StackTable& table,
                                  unsigned parents, ForkMade& where) {
  Result<TapeReader> opened = open_parent(origin);
  if (!opened) return opened.error();
  const TapeReader& parent = opened.value();
  const std::optional<ForkMade> fork = find_fork(parent, origin);
  if (!fork)
    return Error{ErrorCode::NotFound, "the fork is not on the tape of process " + std::to_string(origin.parent_pid)};
  where = *fork;
  LiveBlocks live;
  StackTable::Translation translation(table, parent.stacks());
  if (parent.inheritance()) {
    std::vector<InheritedBlock> before = parent.inherited_blocks();
    for (InheritedBlock& block : before) block.stack = translation(block.stack);
    live.inherit(before);
  } else if (const auto older = fork_origin(parent); older && parents < kMostParents) {
    ForkMade there;
    // What cannot be found there is missing here, too.
    if (const auto before = blocks_at_fork(*older, open_parent, table, parents + 1, there))
      live.inherit(before.value().at(there.time_us, kMostInherited));
  }
  live.play(parent, fork->event);
  live.translate(translation);
  return live;
}

// All that is to be added to a tape.
struct Found {
  StackTable table;
  Inheritance figures;
  std::vector<InheritedBlock> blocks;
  std::vector<std::uint64_t> releases;
};

Result<Found> find_inherited(const TapeReader& tape, const ForkOrigin& origin, const OpenParent& open_parent,
                             std::size_t most) {
  Found found{StackTable(tape.stacks()), {.parent_pid = origin.parent_pid, .parent_tape = origin.parent_tape}, {}, {}};
  ForkMade fork;
  Result<LiveBlocks> live = blocks_at_fork(origin, open_parent, found.table, 0, fork);
  if (!live) return live.error();
  found.figures.parent_event = fork.event;
  live.value().count(found.figures);
  found.releases = live.value().find_releases(tape, found.figures);
  found.blocks = live.value().at(fork.time_us, most);
  found.figures.left_out = found.figures.blocks - found.blocks.size();
  return found;
}

} // namespace

std::optional<ForkOrigin> fork_origin(const TapeReader& tape) {
  const auto text = [&](const char* name) {
    const auto found = tape.meta().find(name);
    return found != tape.meta().end() ? found->second : std::string();
  };
  ForkOrigin origin{.parent_pid = static_cast<std::uint32_t>(number_in(tape.meta(), "parent_pid")),
                    .parent_tape = text("parent_tape"),
                    .started_ns = number_in(tape.meta(), "started_monotonic_ns")};
  // The name goes behind that of a folder.
  const bool plain = !origin.parent_tape.empty() && origin.parent_tape.find('/') == std::string::npos;
  if (text("started_by") != "fork" || !plain || origin.started_ns == 0) return std::nullopt;
  return origin;
}

std::optional<ForkMade> find_fork(const TapeReader& parent, const ForkOrigin& origin) {
  if (parent.header().pid != origin.parent_pid) return std::nullopt; // another tape of that name
  for (const ForkMade& fork : parent.forks())
    if (fork.started_ns == origin.started_ns) return fork;
  const std::uint64_t start_ns = number_in(parent.meta(), "start_monotonic_ns");
  if (start_ns == 0 || start_ns > origin.started_ns) return std::nullopt;
  const std::uint64_t time_us = (origin.started_ns - start_ns) / 1000;
  const auto& chunks = parent.event_chunks();
  const bool goes_beyond = !chunks.empty() && chunks.back().last_us > time_us;
  const bool is_whole = parent.summary() && parent.summary()->ending != Ending::CollectorStopped;
  if (!goes_beyond && !is_whole) return std::nullopt;
  EventCursor after = parent.events_from_time(time_us + 1);
  const Event* next = after.next();
  const std::uint64_t last = chunks.empty() ? 0 : chunks.back().first_number + chunks.back().count - 1;
  return ForkMade{origin.started_ns, next != nullptr ? next->number - 1 : last, time_us};
}

Result<bool> append_inherited(const TapeToFinish& what, const OpenParent& open_parent, std::size_t most) {
  Result<TapeAppender> opened = TapeAppender::open(what);
  if (!opened) return opened.error();
  TapeAppender& appender = opened.value();
  const TapeReader& tape = appender.tape();
  const std::optional<ForkOrigin> origin = fork_origin(tape);
  if (!origin || tape.inheritance()) return false;
  if (tape.summary()->ending == Ending::Replaced && tape.summary()->unknown_releases == 0) return false;

  const Result<Found> found = find_inherited(tape, *origin, open_parent, most);
  if (!found) return found.error();
  const Found& what_was_found = found.value();

  const auto append = [&]() -> Result<> {
    const auto& [table, figures, blocks, releases] = what_was_found;
    constexpr std::size_t kNodesPerChunk = std::size_t{1} << 19;
    StackId first = table.first_added();
    for (auto nodes = table.added(); !nodes.empty();) {
      const auto part = nodes.first(std::min(nodes.size(), kNodesPerChunk));
      std::vector<std::byte> payload;
      put_stacks(first, part, payload);
      if (const auto added = appender.add(format::ChunkType::Stacks, payload); !added) return added.error();
      first = StackId(first.value + static_cast<std::uint32_t>(part.size()));
      nodes = nodes.subspan(part.size());
    }
    for (const auto& payload : encode_inheritance(figures, blocks, releases)) {
      if (const auto added = appender.add(format::ChunkType::Inherited, payload); !added) return added.error();
    }
    return Unit{};
  };
  if (const auto appended = append(); !appended) {
    appender.undo();
    return appended.error();
  }
  return true;
}

Result<bool> inherit_for_now(TapeReader& tape, const OpenParent& open_parent) {
  const std::optional<ForkOrigin> origin = fork_origin(tape);
  if (!origin || tape.inheritance()) return false;
  Result<Found> found = find_inherited(tape, *origin, open_parent, kMostInherited);
  if (!found) return found.error();
  auto& [table, figures, blocks, releases] = found.value();
  tape.inherit(table.added(), std::move(figures), std::move(blocks), std::move(releases));
  return true;
}

Result<bool> inherit_for_now(TapeReader& tape, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  return inherit_for_now(tape,
                         [&](const ForkOrigin& origin) { return TapeReader::open(folder + "/" + origin.parent_tape); });
}

} // namespace heaptape
